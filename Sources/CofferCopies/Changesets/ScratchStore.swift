internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A sealed store with a random key in a folder of its own, which is removed at the end.
struct ScratchStore {
  let engine: StoreEngine

  /// Makes a store, and fills it in one transaction.
  ///
  /// - Parameters:
  ///   - isTest: Whether the rows come from a TEST store.
  ///   - name: What errors call the store.
  init(isTest: Bool, named name: String, fill: (StoreTransaction) throws -> Void) throws {
    let folder = try PrivateFolder()
    var creation = CreateOptions()
    creation.titles = .sealed
    creation.isTest = isTest
    let line = try translatingErrors { () throws(SealingError) in try KeyLine.generate(.key, isTest: isTest).line() }
    let path = folder.path(of: "changes.coffer")
    let key = StoreKey.keyMaterial { line }
    let maker = StoreMaker(path: path, creation: creation, wait: nil)
    var options = OpenOptions()
    options.allowsTestKeys = isTest
    let (unlocked, session) = try maker.make(try [NewSlot(key)], allowsTestKeys: isTest)
    let file = try StoreFile(at: path, wait: nil, cacheBytes: options.pageCacheBytes)
    engine = try StoreEngine(
      file, at: name, unlocked: unlocked, keys: session, key: key, options: options, verb: "created", folder: folder)
    try engine.write { try fill($0) }
  }
}
