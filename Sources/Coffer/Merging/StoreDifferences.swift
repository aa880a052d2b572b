public import CofferDocuments
internal import CofferRecords

/// The way in which documents of two stores are paired.
public enum DocumentPairing: Sendable, Hashable {
  /// Pairs equal identities, which every copy keeps: for a store and its copies.
  case identity
  /// Pairs equal keys in collections of equal names; documents without a key have no counterpart.
  case key
  /// Pairs equal titles in collections of equal names; documents without a title have no counterpart. Documents of
  /// equal titles are paired in their order.
  case title
}

/// A document that differs between two stores.
public struct DocumentDifference: Sendable, Hashable {
  /// The parts in which the two documents differ.
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
    /// The creation or the modification date.
    public static let dates = Parts(rawValue: 16)
    /// The collection, by its name or its identity.
    public static let collection = Parts(rawValue: 32)
    /// The parent.
    public static let parent = Parts(rawValue: 64)
    /// The place in the order, among the documents that both stores have in the collection.
    public static let place = Parts(rawValue: 128)
  }

  /// In the first store; nil if it is in the second one only.
  public let before: DocumentHeader?
  /// In the second store; nil if it is in the first one only.
  public let after: DocumentHeader?
  /// Empty for a document of one store only.
  public let parts: Parts

  /// Whether nothing but collection, parent or place differs.
  public var isMoved: Bool { !parts.isEmpty && parts.isSubset(of: [.collection, .parent, .place]) }
}

/// The differences of two stores, from the first to the second.
public struct StoreDifferences: Sendable {
  /// In the second store only, by id.
  public internal(set) var added: [DocumentDifference] = []
  /// In the first store only, by id.
  public internal(set) var removed: [DocumentDifference] = []
  /// In both, and different; by the id in the first store.
  public internal(set) var changed: [DocumentDifference] = []
  /// The number of documents that are the same.
  public internal(set) var same = 0

  /// Whether the stores have the same documents, in the same order.
  public var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
}

/// Compares two stores in one read transaction of each.
struct StoreComparison {
  /// A document, as far as pairing and order need it.
  private struct Entry {
    let id: Int64
    let uid: UInt64
    let collection: UInt32
    let position: Int64
    let parent: Int64?
  }

  private let one: StoreTransaction
  private let other: StoreTransaction
  private let pairing: DocumentPairing
  private let progress: ProgressHandler?

  init(
    _ one: StoreTransaction, _ other: StoreTransaction, _ pairing: DocumentPairing, _ progress: ProgressHandler?
  ) {
    self.one = one
    self.other = other
    self.pairing = pairing
    self.progress = progress
  }

  /// - Throws: `invalidArgument` for stores without a common origin that are to be paired by identity; `damaged`,
  ///   `setMismatch`.
  func run() throws -> StoreDifferences {
    if pairing == .identity { try one.requireCommonOrigin(with: other, hint: "pair them by key or by title") }
    let (left, right) = (try entries(of: one), try entries(of: other))
    let pairs = try pairs(left, right)
    var differences = StoreDifferences()
    let counterparts = Dictionary(uniqueKeysWithValues: pairs.map { (left[$0.0].id, right[$0.1].id) })
    let ids = Set(left.map(\.id))
    let moved = movedPairs(left, right, pairs, try collectionsOfPairs(left, right, pairs))
    for (index, pair) in pairs.enumerated() {
      if index.isMultiple(of: 256) { try progress?(WorkProgress(done: index, total: pairs.count)) }
      let (before, after) = (left[pair.0], right[pair.1])
      // A parent that was deleted keeps its id in both; one that is there and has no counterpart equals none.
      let parent = before.parent.map { counterparts[$0] ?? (ids.contains($0) ? 0 : $0) }
      guard
        let difference = try difference(
          before, after, parentDiffers: parent != after.parent, isMoved: moved.places.contains(index),
          isElsewhere: moved.collections.contains(index))
      else {
        differences.same += 1
        continue
      }
      differences.changed.append(difference)
    }
    let (pairedLeft, pairedRight) = (Set(pairs.map(\.0)), Set(pairs.map(\.1)))
    for index in left.indices where !pairedLeft.contains(index) {
      let header = try one.header(of: DocumentID(left[index].id))
      differences.removed.append(DocumentDifference(before: header, after: nil, parts: []))
    }
    for index in right.indices where !pairedRight.contains(index) {
      let header = try other.header(of: DocumentID(right[index].id))
      differences.added.append(DocumentDifference(before: nil, after: header, parts: []))
    }
    differences.changed.sort { ($0.before?.id ?? 0) < ($1.before?.id ?? 0) }
    differences.removed.sort { ($0.before?.id ?? 0) < ($1.before?.id ?? 0) }
    differences.added.sort { ($0.after?.id ?? 0) < ($1.after?.id ?? 0) }
    return differences
  }

  /// Every document, each head verified: by id, or in order where equal names are paired in order.
  private func entries(of transaction: StoreTransaction) throws(StoreError) -> [Entry] {
    var entries: [Entry] = []
    try transaction.requireWhole { row, opener throws(StoreError) in
      entries.append(
        Entry(
          id: row.fields.id, uid: try opener.openHead(row).stamps.uid, collection: row.fields.collection,
          position: row.fields.position, parent: row.fields.parent))
    }
    if pairing != .identity { entries.sort { ($0.position, $0.id) < ($1.position, $1.id) } }
    return entries
  }

  // MARK: Pairs

  /// Indices of the documents that belong together.
  private func pairs(_ left: [Entry], _ right: [Entry]) throws(StoreError) -> [(Int, Int)] {
    guard pairing == .identity else {
      return Self.pairs(try names(of: left, in: one), try names(of: right, in: other))
    }
    // The same id and identity first: identities of rows from others may come twice.
    struct Identity: Hashable {
      let id: Int64
      let uid: UInt64
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

  /// Pairs those of equal names in their order.
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

  /// The collection and the key or title of each document, as bytes.
  private func names(of entries: [Entry], in transaction: StoreTransaction) throws(StoreError) -> [[[UInt8]]?] {
    var collections: [UInt32: [UInt8]] = [:]
    for record in try transaction.collections() { collections[record.id] = Array(record.name.utf8) }
    var names: [[[UInt8]]?] = []
    for entry in entries {
      let header = try transaction.header(of: DocumentID(entry.id))
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

  /// For each pair, whether its documents are in the same collection: by identity, or by name.
  private func collectionsOfPairs(_ left: [Entry], _ right: [Entry], _ pairs: [(Int, Int)]) throws(StoreError)
    -> [Bool]
  {
    func identities(_ transaction: StoreTransaction) throws(StoreError) -> [UInt32: [UInt8]] {
      var known: [UInt32: [UInt8]] = [:]
      for record in try transaction.collections() {
        known[record.id] =
          pairing == .identity ? withUnsafeBytes(of: record.uid) { Array($0) } : Array(record.name.utf8)
      }
      return known
    }
    let (known, others) = (try identities(one), try identities(other))
    return pairs.map { known[left[$0.0].collection] == others[right[$0.1].collection] }
  }

  /// The pairs that are in other collections, and those that are not in the order of most of the others.
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
      let staying = ListDifference.longestRise(order.map { ranks[$0]! })
      moved.formUnion(Set(order).subtracting(staying.map { order[$0] }))
    }
    return (elsewhere, moved)
  }

  // MARK: Contents

  private func difference(
    _ left: Entry, _ right: Entry, parentDiffers: Bool, isMoved: Bool, isElsewhere: Bool
  ) throws(StoreError) -> DocumentDifference? {
    let before = try one.header(of: DocumentID(left.id))
    let after = try other.header(of: DocumentID(right.id))
    var parts: DocumentDifference.Parts = []
    if !Self.areIdentical(before.title, after.title) { parts.insert(.title) }
    if before.key != after.key { parts.insert(.key) }
    if before.attributes != after.attributes { parts.insert(.attributes) }
    if before.created != after.created || before.modified != after.modified { parts.insert(.dates) }
    if isElsewhere { parts.insert(.collection) }
    if parentDiffers { parts.insert(.parent) }
    if isMoved { parts.insert(.place) }
    if try textDiffers(before, after) { parts.insert(.text) }
    return parts.isEmpty ? nil : DocumentDifference(before: before, after: after, parts: parts)
  }

  /// Titles are bytes: composed and decomposed forms differ.
  private static func areIdentical(_ one: String?, _ other: String?) -> Bool {
    (one == nil) == (other == nil) && (one ?? "").isIdentical(to: other ?? "")
  }

  private func textDiffers(_ before: DocumentHeader, _ after: DocumentHeader) throws(StoreError) -> Bool {
    guard before.byteCount == after.byteCount, before.isJSON == after.isJSON else { return true }
    return try one.withOpened(before.id) { left throws(StoreError) in
      try other.withOpened(after.id) { right throws(StoreError) in !left.utf8.elementsEqual(right.utf8) }
    }
  }
}
