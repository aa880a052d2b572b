internal import CofferSealing

/// A collection as its row says once it is open (FORMAT, "Collections").
struct CollectionRecord: Sendable, Hashable {
  var id: UInt32
  var epoch: UInt32
  var revision: UInt64
  var name: String
  var titleRule: TitleRule
  var foldsKeys: Bool

  /// `u32 length || name || settings`
  private var data: [UInt8] {
    let name = Array(name.utf8)
    var builder = ByteBuilder()
    builder.append(UInt32(name.count))
    builder.append(bytes: name)
    builder.append(bytes: Array(Self.settings(titleRule: titleRule, foldsKeys: foldsKeys).utf8))
    return builder.bytes
  }

  /// RFC 8785: members in order, no spaces.
  private static func settings(titleRule: TitleRule, foldsKeys: Bool) -> String {
    "{\"folding\":\(foldsKeys ? 1 : 0),\"title\":\(titleRule.rawValue)}"
  }

  func seal(_ keys: RowKeys) throws(StoreError) -> [UInt8] {
    let frame = Frame.around(data, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
    do throws(SealingError) {
      guard let context = keys.context(of: epoch) else { throw SealingError(.malformed, "no such epoch") }
      let binding = Array(keys.binding.collection(id, revision: revision, epoch: epoch))
      return try context.name.seal(frame, authenticating: binding, nonces: keys.nonces)
    } catch {
      throw StoreError(error)
    }
  }

  /// What the set hash sums of a collection.
  static func element(
    id: UInt32, epoch: UInt32, revision: UInt64, sealed: [UInt8], keys: RowKeys
  ) throws(SealingError) -> SetHash {
    guard let context = keys.context(of: epoch), sealed.count > XAESKey.overhead else {
      throw SealingError(.malformed, "no such epoch")
    }
    let element = sealed.withBytes {
      keys.binding.collectionElement(id, epoch: epoch, revision: revision, sealed: $0)
    }
    return try SetHash(of: element, under: context.set)
  }

  /// - Throws: `damaged` when the seal, the frame or the settings are not what a writer makes.
  init(id: UInt32, epoch: UInt32, revision: UInt64, sealed: [UInt8], keys: RowKeys)
    throws(StoreError)
  {
    let isPadded = keys.session.isPadded
    do throws(SealingError) {
      guard let context = keys.context(of: epoch) else { throw SealingError(.malformed, "no such epoch") }
      let frame = try context.name.open(
        sealed, authenticating: Array(keys.binding.collection(id, revision: revision, epoch: epoch)))
      let data = try frame.withBytes { frame throws(SealingError) in
        Array(frame[try Frame.dataRange(of: frame, minimum: Frame.standardMinimum, isPadded: isPadded)])
      }
      let parts: (name: String, settings: String)? = data.withBytes { data in
        var reader = ByteReader(data)
        guard let count: UInt32 = reader.integer(), count >= 1, count <= StoreFormat.maximumCollectionName,
          let name = reader.bytes(Int(count)), let settings = reader.bytes(reader.remaining),
          let name = String(validating: name, as: UTF8.self)
        else { return nil }
        return (name, String(decoding: settings, as: UTF8.self))
      }
      for titleRule in [TitleRule.asGiven, .derived] {
        for foldsKeys in [false, true]
        where parts?.settings == Self.settings(titleRule: titleRule, foldsKeys: foldsKeys) {
          self.init(
            id: id, epoch: epoch, revision: revision, name: parts!.name, titleRule: titleRule, foldsKeys: foldsKeys)
          return
        }
      }
      throw SealingError(.malformed, "a name or settings that no writer makes")
    } catch {
      throw .unopened(
        error,
        StoreError(
          .damaged, "collection #\(id) is damaged: its name can't be opened", hint: "run verify to see what else is"))
    }
  }

  init(id: UInt32, epoch: UInt32, revision: UInt64, name: String, titleRule: TitleRule, foldsKeys: Bool) {
    self.id = id
    self.epoch = epoch
    self.revision = revision
    self.name = name
    self.titleRule = titleRule
    self.foldsKeys = foldsKeys
  }

  /// Whether a row's key is one that is looked up by these bytes.
  func folds(_ key: UnsafeRawBufferPointer?, to folded: [UInt8]) throws(StoreError) -> Bool {
    guard let key else { return false }
    return foldsKeys ? try self.folded(ExternalKey(bytes: key)) == folded : key.elementsEqual(folded)
  }

  /// The bytes by which a key is looked up here.
  func folded(_ key: ExternalKey) throws(StoreError) -> [UInt8] {
    guard (1...ExternalKey.maximumByteCount).contains(key.bytes.count) else {
      throw StoreError(.tooLarge, "a key has 1 to \(ExternalKey.maximumByteCount) bytes")
    }
    guard foldsKeys else { return key.bytes }
    guard let text = key.text else {
      throw StoreError(.invalidArgument, "this collection folds its keys, so a key must be UTF-8 text")
    }
    return KeyFolding.fold(text)
  }
}
