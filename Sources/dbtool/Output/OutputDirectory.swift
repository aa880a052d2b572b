internal import Coffer
internal import FoundationEssentials
internal import Glibc

/// A directory of files that is being written: under another name beside its target, renamed when it is complete and
/// removed when that never comes.
final class OutputDirectory {
  /// Where to write.
  let temporaryPath: String
  private let path: String
  private let replacesExisting: Bool
  private let cleanup: CleanupGuard
  private var isDone = false

  /// - Parameter isForced: an earlier export may be replaced; nothing else ever is.
  init(at path: String, isForced: Bool) throws {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    replacesExisting = try Self.isReplaceable(path, isForced: isForced)
    (temporaryPath, cleanup) = try CleanupGuard.makeFolder(OutputFile.folder(of: path) + ".dbtool-", for: path)
  }

  deinit {
    discard()
  }

  /// Makes the files durable, gives the directory its name, and removes an earlier export when the disk has that.
  ///
  /// - Throws: also when the disk does not confirm the name, which the directory has then all the same.
  func commit() throws {
    if let number = Durability.ofEverything(in: temporaryPath) { throw Failure.system(number, path) }
    let earlier = try takePlace()
    isDone = true
    let confirmation = Result { try Durability.confirmName(of: path) }
    if let earlier { try? FileManager.default.removeItem(atPath: earlier) }
    cleanup.release()
    try confirmation.get()
  }

  /// Gives where the earlier export is then.
  private func takePlace() throws -> String? {
    guard replacesExisting else {
      // Takes the place of an empty directory, too, and of nothing else.
      guard rename(temporaryPath, path) == 0 else { throw Failure.system(errno, path) }
      return nil
    }
    if AtomicRename.exchanging(temporaryPath, path) { return temporaryPath }
    // Where the file system can't: there is a moment without either.
    let old = temporaryPath + ".old"
    guard rename(path, old) == 0 else { throw Failure.system(errno, path) }
    guard rename(temporaryPath, path) == 0 else {
      let number = errno
      rename(old, path)
      throw Failure.system(number, path)
    }
    return old
  }

  func discard() {
    guard !isDone else { return }
    isDone = true
    try? FileManager.default.removeItem(atPath: temporaryPath)
    // What this process can't remove, for want of descriptors perhaps, another one can.
    if access(temporaryPath, F_OK) == 0 { cleanup.removeFolder() } else { cleanup.release() }
  }

  /// Whether there is something to replace: with `--force`, a directory of an earlier export, which its index tells.
  private static func isReplaceable(_ path: String, isForced: Bool) throws -> Bool {
    guard access(path, F_OK) == 0 else { return false }
    guard InputFile.isDirectory(path) else { throw Failure.failed("\(path) is there already, and no directory") }
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    if names.isEmpty { return false }
    let index = "index.ndjson"
    // One of several collections has a directory for each.
    guard names.contains(index) || names.allSatisfy({ InputFile.exists("\(path)/\($0)/\(index)") }) else {
      throw Failure.failed(
        "\(path) is not empty, and no earlier export", hint: "name a directory that is not there yet")
    }
    guard isForced else { throw Failure.outputExists(path) }
    return true
  }
}
