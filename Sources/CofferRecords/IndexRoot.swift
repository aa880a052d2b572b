package import CofferSealing

/// The location of an index page, which its seal is bound to (Index-Format, "Tables").
package struct IndexPlace {
  package let identity: UniqueID
  package let part: UInt32
  package let epoch: UInt32
  /// The page number, starting at 0, or the number of a map page above ``firstMapPage``.
  package let page: UInt32

  package static let firstMapPage: UInt32 = 1 << 31
  package static let maximumPageCount = Int(Int32.max)
}

/// An index's sealed root row, which authenticates its pages and the state of their documents (Index-Format, "Root").
///
/// Indexes are derived data, so they can always be dropped and rebuilt from the document rows.
package struct IndexRoot: Sendable, Equatable {
  /// The index's number in its store, starting at 1.
  package let part: UInt32
  /// The identity, which changes with every rebuild and every declaration change. The state also contains it, so an
  /// attacker can't restore an earlier index with this number.
  package private(set) var identity: UniqueID
  package var pageSize: UInt32
  package var pageCount: UInt32
  /// The expected page tags.
  package var map = IndexMap()
  /// The state of the documents in the pages, or `nil` if the index must be built.
  package var contents: Contents?
  /// The indexed collections, fields and texts, as JSON.
  package var declaration: [UInt8]
  /// Whether the stored root and pages have a different version, so the index must be rebuilt.
  package private(set) var isOtherVersion = false

  /// The state of an index's documents.
  package struct Contents: Sendable, Equatable {
    package var generation: UInt64
    /// The mark of that generation's state.
    package var mark: [UInt8]
    package var count: UInt64
    package var set: SetHash

    /// - Parameters:
    ///   - state: The documents, including uncommitted changes.
    ///   - mark: The last committed state's mark.
    ///   - generation: The last committed state's generation.
    package init(_ state: StoreState, mark: [UInt8], generation: UInt64) {
      self.generation = generation
      self.mark = mark
      count = state.count
      set = state.set
    }

    fileprivate init(generation: UInt64, mark: [UInt8], count: UInt64, set: SetHash) {
      (self.generation, self.mark, self.count, self.set) = (generation, mark, count, set)
    }

    /// Returns whether the index contains the documents of a state.
    package func match(_ state: StoreState) -> Bool {
      count == state.count && set == state.set
    }

    /// Contents for pages that also have later documents, so no state proves which of them differ.
    package var partial: Contents { Contents(generation: generation, mark: mark, count: .max, set: set) }
    package var isPartial: Bool { count == .max }
  }

  /// The Index-Format version.
  private static let version: UInt32 = 3
  /// The maximum length of a declaration in bytes.
  package static let maximumDeclaration = 1 << 20

  /// Creates an index without pages.
  package init(part: UInt32, pageSize: UInt32, declaration: [UInt8]) throws(StoreError) {
    self.part = part
    self.pageSize = pageSize
    self.declaration = declaration
    (pageCount, contents) = (0, nil)
    identity = try Self.newIdentity()
  }

  private static func newIdentity() throws(StoreError) -> UniqueID {
    try translatingErrors { () throws(SealingError) in try UniqueID.random() }
  }

  /// Draws a new identity. The caller must then reseal all pages.
  mutating func renewIdentity() throws(StoreError) {
    identity = try Self.newIdentity()
  }

  /// Removes all pages, so the index must be rebuilt.
  package mutating func restart() throws(StoreError) {
    let declaration = self.declaration
    self = try IndexRoot(part: part, pageSize: pageSize, declaration: declaration)
  }

  private var bytes: [UInt8] {
    var builder = ByteBuilder()
    builder.append(Self.version)
    builder.append(pageSize)
    builder.append(UInt32(declaration.count))
    builder.append(bytes: declaration)
    builder.append(identity)
    builder.append(pageCount)
    map.write(to: &builder)
    builder.append(UInt8(contents == nil ? 0 : 1))
    if let contents {
      builder.append(contents.generation)
      builder.append(bytes: contents.mark)
      builder.append(contents.count)
      builder.append(SetHash.byteCount) { contents.set.write(to: $0) }
    }
    return builder.bytes
  }

  package func seal(_ keys: RowKeys) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in
      let frame = Frame.around(bytes, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
      return try keys.active.index().seal(
        frame, authenticating: Array(keys.binding.indexRoot(part: part, epoch: keys.active.epoch)))
    }
  }

  /// Opens a root, or throws `damaged` unless it was sealed for this store and number with the active epoch's keys.
  package init(part: UInt32, epoch: Int64, sealed: [UInt8], _ keys: RowKeys) throws(StoreError) {
    do throws(SealingError) {
      guard epoch == Int64(keys.active.epoch) else {
        throw SealingError(.malformed, "the index is sealed under the key of another epoch")
      }
      let frame = try keys.active.index().open(
        sealed, authenticating: Array(keys.binding.indexRoot(part: part, epoch: keys.active.epoch)))
      let root: IndexRoot? = try frame.withBytes { frame throws(SealingError) in
        let range = try Frame.dataRange(
          of: frame, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
        return IndexRoot(part: part, UnsafeRawBufferPointer(rebasing: frame[range]))
      }
      guard let root else { throw SealingError(.malformed, "the root of the index has no valid form") }
      self = root
    } catch {
      throw .unopened(error, Self.damaged("its root can't be opened"))
    }
    // Pages of a different version can't be used, so give the index a new identity.
    if isOtherVersion { identity = try Self.newIdentity() }
  }

  private init?(part: UInt32, _ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let version: UInt32 = reader.integer(), let pageSize: UInt32 = reader.integer(),
      (1024...65536).contains(pageSize), pageSize & (pageSize - 1) == 0, let count: UInt32 = reader.integer(),
      count <= Self.maximumDeclaration, let declaration = reader.bytes(Int(count))
    else { return nil }
    self.part = part
    self.pageSize = pageSize
    self.declaration = Array(declaration)
    (identity, pageCount, contents) = (.none, 0, nil)
    guard version == Self.version else {
      isOtherVersion = true
      return
    }
    guard let identity = reader.uniqueID(), let pageCount: UInt32 = reader.integer(),
      pageCount <= UInt32(Int32.max), let map = IndexMap(&reader, pageSize: pageSize, pageCount: pageCount),
      let mark: UInt8 = reader.integer(), mark <= 1
    else { return nil }
    self.identity = identity
    (self.pageCount, self.map) = (pageCount, map)
    if mark == 1 {
      guard let generation: UInt64 = reader.integer(),
        (1...UInt64(StoreFormat.maximumCounter)).contains(generation),
        let mark = reader.bytes(StoreFormat.macCount), let count: UInt64 = reader.integer(),
        let set = reader.bytes(SetHash.byteCount)
      else { return nil }
      contents = Contents(generation: generation, mark: Array(mark), count: count, set: SetHash(bytes: set))
    }
    guard reader.isAtEnd else { return nil }
  }

  fileprivate static let damage = "an index is damaged"

  /// The error for a root whose identity doesn't match the state.
  package static var earlier: StoreError { damaged("it is an earlier one, which was put back") }

  /// The error for an index whose root, and with it the declaration, is damaged or missing.
  package static var lost: StoreError {
    StoreError(
      .damaged, "\(damage): its declaration can't be read",
      hint: "documents are not affected; declare the indexes of each collection again with \(.addIndex)")
  }

  package static func damaged(_ what: String) -> StoreError {
    StoreError(
      .damaged, "\(damage): \(what)", hint: "documents are not affected; \(.updateIndex) makes it again")
  }
}

extension StoreError {
  /// Whether the error reports damage to an index rather than to a document.
  package var isIndexDamage: Bool { code == .damaged && message.hasPrefix(IndexRoot.damage) }
}
