public import CofferDocuments
package import CofferEngine
internal import CofferRecords

/// The differences between two stores, from the first to the second.
public struct StoreDifferences: Sendable {
  /// The documents missing from the first store, sorted by ID.
  public package(set) var added: [StoreDifferences.Difference] = []
  /// The documents missing from the second store, sorted by ID.
  public package(set) var removed: [StoreDifferences.Difference] = []
  /// The differing documents, sorted by ID in the first store.
  public package(set) var changed: [StoreDifferences.Difference] = []
  /// The number of identical documents.
  public package(set) var same = 0

  /// A Boolean value that indicates whether both stores have the same documents in the same order.
  public var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }

  /// A document that differs between two stores.
  public struct Difference: Sendable, Hashable {
    /// The parts that differ between two documents.
    public struct Parts: OptionSet, Sendable, Hashable {
      public let rawValue: Int

      public init(rawValue: Int) { self.rawValue = rawValue }

      /// The title.
      public static let title = Parts(rawValue: 1)
      /// The text.
      public static let text = Parts(rawValue: 2)
      /// The key.
      public static let key = Parts(rawValue: 4)
      /// The attributes.
      public static let attributes = Parts(rawValue: 8)
      /// The creation or modification date.
      public static let dates = Parts(rawValue: 16)
      /// The collection, compared by identity or name.
      public static let collection = Parts(rawValue: 32)
      /// The parent.
      public static let parent = Parts(rawValue: 64)
      /// The position, relative to the collection's documents that both stores have.
      public static let place = Parts(rawValue: 128)
      /// The attachments: their names, media types, dates or contents.
      public static let attachments = Parts(rawValue: 256)
    }

    /// The document in the first store, or `nil` if it's missing there.
    public let before: DocumentHeader?
    /// The document in the second store, or `nil` if it's missing there.
    public let after: DocumentHeader?
    /// The differing parts, or an empty set if one store doesn't have the document.
    public let parts: Parts

    /// A Boolean value that indicates whether the differences are limited to collection, parent and position.
    public var isMoved: Bool { !parts.isEmpty && parts.isSubset(of: [.collection, .parent, .place]) }
  }

  /// The criterion for pairing documents between two stores.
  public enum Pairing: Sendable, Hashable {
    /// Pairs documents with equal identities, which all copies keep. Use it for a store and its copies.
    case identity
    /// Pairs documents with equal keys in collections with equal names. Documents without a key aren't paired.
    case key
    /// Pairs documents with equal titles in collections with equal names. Documents without a title aren't paired.
    /// Documents with the same title are paired in order.
    case title
  }
}

/// A comparison of two stores, with one read transaction in each store.
package struct StoreComparison {
  /// The document fields for pairing and ordering.
  private struct Entry {
    let id: Int64
    let uid: UniqueID
    let collection: UInt32
    let position: DocumentPosition
    let parent: Int64?
  }

  private let one: PairedStore
  private let other: PairedStore
  private let pairing: StoreDifferences.Pairing
  private let progress: ProgressHandler?

  /// - Throws: `rolledBack` for files of one store with two root keys, unless `allowsRekey` is `true`.
  package init(
    _ one: StoreTransaction, _ other: StoreTransaction, _ pairing: StoreDifferences.Pairing,
    allowingRekey allowsRekey: Bool, _ progress: ProgressHandler?
  ) throws(StoreError) {
    self.one = PairedStore(one)
    self.other = PairedStore(other)
    if !allowsRekey { try self.one.requireSameRootKey(as: self.other) }
    self.pairing = pairing
    self.progress = progress
  }

  /// - Throws: `invalidArgument` if stores without a common origin are paired by identity, `damaged`, or `setMismatch`.
  package func run() throws -> StoreDifferences {
    if pairing == .identity { try one.requireCommonOrigin(with: other, hint: "pair them by key or by title") }
    let (left, right) = (try entries(of: one), try entries(of: other))
    let pairs = try pairs(left, right)
    var differences = StoreDifferences()
    let counterparts = Dictionary(uniqueKeysWithValues: pairs.map { (left[$0.0].id, right[$0.1].id) })
    let (ids, otherIDs) = (Set(left.map(\.id)), Set(right.map(\.id)))
    let moved = movedPairs(left, right, pairs, try collectionsOfPairs(left, right, pairs))
    for (index, pair) in pairs.enumerated() {
      if index.isMultiple(of: 256) { try progress?(WorkProgress(done: index, total: pairs.count)) }
      let (before, after) = (left[pair.0], right[pair.1])
      // A deleted parent may keep its ID in one store only. An existing parent without a counterpart never matches.
      let parent = before.parent.flatMap { ids.contains($0) ? counterparts[$0] ?? 0 : nil }
      let otherParent = after.parent.flatMap { otherIDs.contains($0) ? $0 : nil }
      guard
        let difference = try difference(
          before, after, parentDiffers: parent != otherParent, isMoved: moved.places.contains(index),
          isElsewhere: moved.collections.contains(index))
      else {
        differences.same += 1
        continue
      }
      differences.changed.append(difference)
    }
    let (pairedLeft, pairedRight) = (Set(pairs.map(\.0)), Set(pairs.map(\.1)))
    for index in left.indices where !pairedLeft.contains(index) {
      let header = try one.header(left[index].id)
      differences.removed.append(StoreDifferences.Difference(before: header, after: nil, parts: []))
    }
    for index in right.indices where !pairedRight.contains(index) {
      let header = try other.header(right[index].id)
      differences.added.append(StoreDifferences.Difference(before: nil, after: header, parts: []))
    }
    differences.changed.sort { ($0.before?.id ?? 0) < ($1.before?.id ?? 0) }
    differences.removed.sort { ($0.before?.id ?? 0) < ($1.before?.id ?? 0) }
    differences.added.sort { ($0.after?.id ?? 0) < ($1.after?.id ?? 0) }
    return differences
  }

  /// Returns every document after verifying its head, sorted by ID, or by position to pair equal names in order.
  private func entries(of store: PairedStore) throws(StoreError) -> [Entry] {
    var entries: [Entry] = []
    try store.requireWhole { row, opener throws(StoreError) in
      entries.append(
        Entry(
          id: row.fields.id, uid: try opener.openHead(row).uid, collection: row.fields.collection,
          position: DocumentPosition(verified: row.position), parent: row.fields.parent))
    }
    if pairing != .identity { entries.sort { ($0.position, $0.id) < ($1.position, $1.id) } }
    return entries
  }

  // MARK: Pairs

  /// Returns index pairs of matching documents.
  private func pairs(_ left: [Entry], _ right: [Entry]) throws(StoreError) -> [(Int, Int)] {
    guard pairing == .identity else {
      return Self.pairs(try names(of: left, in: one), try names(of: right, in: other))
    }
    // Match equal IDs and identities first, because rows written by others can repeat an identity.
    struct Identity: Hashable {
      let id: Int64
      let uid: UniqueID
    }
    let known = Dictionary(
      uniqueKeysWithValues: right.enumerated().map { (Identity(id: $1.id, uid: $1.uid), $0) })
    var pairs: [(Int, Int)] = []
    var (restLeft, restRight) = (Array(repeating: true, count: left.count), Array(repeating: true, count: right.count))
    for (index, entry) in left.enumerated() {
      guard let found = known[Identity(id: entry.id, uid: entry.uid)] else { continue }
      pairs.append((index, found))
      restLeft[index] = false
      restRight[found] = false
    }
    return pairs
      + Self.pairs(
        left.enumerated().map { restLeft[$0] ? $1.uid : nil }, right.enumerated().map { restRight[$0] ? $1.uid : nil })
  }

  /// Pairs equal names in order.
  private static func pairs<Name: Hashable>(_ left: [Name?], _ right: [Name?]) -> [(Int, Int)] {
    var places: [Name: [Int]] = [:]
    for (index, name) in right.enumerated().reversed() {
      if let name { places[name, default: []].append(index) }
    }
    var pairs: [(Int, Int)] = []
    for (index, name) in left.enumerated() {
      guard let name, let found = places[name]?.popLast() else { continue }
      pairs.append((index, found))
    }
    return pairs
  }

  /// Returns each document's collection name and key or title as bytes.
  private func names(of entries: [Entry], in store: PairedStore) throws(StoreError) -> [[[UInt8]]?] {
    var collections: [UInt32: [UInt8]] = [:]
    for record in try store.collections() { collections[record.id] = Array(record.name.utf8) }
    var names: [[[UInt8]]?] = []
    for entry in entries {
      let header = try store.header(entry.id)
      let name = pairing == .key ? header.key?.bytes : header.title.map { Array($0.utf8) }
      guard let name, let collection = collections[entry.collection] else {
        names.append(nil)
        continue
      }
      names.append([collection, name])
    }
    return names
  }

  // MARK: Places

  /// Returns whether both documents of each pair are in the same collection, by identity or name.
  private func collectionsOfPairs(_ left: [Entry], _ right: [Entry], _ pairs: [(Int, Int)]) throws(StoreError)
    -> [Bool]
  {
    func identities(_ store: PairedStore) throws(StoreError) -> [UInt32: [UInt8]] {
      var known: [UInt32: [UInt8]] = [:]
      for record in try store.collections() {
        known[record.id] =
          pairing == .identity ? record.uid.bytes : Array(record.name.utf8)
      }
      return known
    }
    let (known, others) = (try identities(one), try identities(other))
    return pairs.map { known[left[$0.0].collection] == others[right[$0.1].collection] }
  }

  /// Returns the pairs in different collections, and the fewest pairs whose moves explain the new order.
  private func movedPairs(
    _ left: [Entry], _ right: [Entry], _ pairs: [(Int, Int)], _ together: [Bool]
  ) -> (collections: Set<Int>, places: Set<Int>) {
    var elsewhere: Set<Int> = []
    var groups: [UInt32: [Int]] = [:]
    for (index, pair) in pairs.enumerated() {
      if together[index] { groups[left[pair.0].collection, default: []].append(index) } else { elsewhere.insert(index) }
    }
    var moved: Set<Int> = []
    for group in groups.values {
      func sorted(_ place: (Int) -> Entry) -> [Int] {
        group.sorted { (place($0).position, place($0).id) < (place($1).position, place($1).id) }
      }
      var ranks: [Int: Int] = [:]
      for (rank, index) in sorted({ right[pairs[$0].1] }).enumerated() { ranks[index] = rank }
      let order = sorted { left[pairs[$0].0] }
      let staying = longestIncreasingSubsequence(of: order.map { ranks[$0]! })
      moved.formUnion(Set(order).subtracting(staying.map { order[$0] }))
    }
    return (elsewhere, moved)
  }

  // MARK: Contents

  private func difference(
    _ left: Entry, _ right: Entry, parentDiffers: Bool, isMoved: Bool, isElsewhere: Bool
  ) throws(StoreError) -> StoreDifferences.Difference? {
    let before = try one.header(left.id)
    let after = try other.header(right.id)
    var parts: StoreDifferences.Difference.Parts = []
    if !before.title.isIdentical(to: after.title) { parts.insert(.title) }
    if before.key != after.key { parts.insert(.key) }
    if before.attributes != after.attributes { parts.insert(.attributes) }
    if before.created != after.created || before.modified != after.modified { parts.insert(.dates) }
    if isElsewhere { parts.insert(.collection) }
    if parentDiffers { parts.insert(.parent) }
    if isMoved { parts.insert(.place) }
    if try textDiffers(before, after) { parts.insert(.text) }
    if try attachments(of: before, in: one) != attachments(of: after, in: other) { parts.insert(.attachments) }
    return parts.isEmpty ? nil : StoreDifferences.Difference(before: before, after: after, parts: parts)
  }

  /// Returns a document's attachments, independent of their numbers and identities. Only decrypts their rows, which
  /// contain the digests of the contents.
  private func attachments(of header: DocumentHeader, in store: PairedStore) throws(StoreError) -> [[UInt8]: Int] {
    var found: [[UInt8]: Int] = [:]
    for attachment in try store.attachments(of: header.id) { found[attachment.description, default: 0] += 1 }
    return found
  }

  private func textDiffers(_ before: DocumentHeader, _ after: DocumentHeader) throws(StoreError) -> Bool {
    guard before.byteCount == after.byteCount, before.isJSON == after.isJSON else { return true }
    return try one.withText(before.id) { left throws(StoreError) in
      try other.withText(after.id) { right throws(StoreError) in !left.utf8.elementsEqual(right.utf8) }
    }
  }
}
