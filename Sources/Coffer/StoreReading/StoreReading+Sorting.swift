internal import CofferEngine
internal import CofferRecords

/// A sort order for a collection's documents.
///
/// Texts and titles are sorted by code points, as stored, without language rules or folding of case or composition.
public enum DocumentOrder: Sendable, Hashable {
  /// By ID, which is the order of creation unless IDs were specified.
  case id
  /// By title, with untitled documents first.
  case title
  /// By the whole text.
  case text
  /// By creation date, earliest first.
  case created
  /// By modification date, earliest first.
  case modified
  /// By the text's length in bytes.
  case size
  /// By the key's bytes, with documents without a key first.
  case key
  /// By a value in the attributes, in the order of ``json(_:)``.
  case attribute(JSONPath)
  /// By a value in JSON texts: first documents without the value and null, then false, true, numbers by value, strings
  /// by code points, and arrays and objects by their JSON.
  case json(JSONPath)
}

extension DocumentOrder {
  /// Returns an order by the attribute with this name.
  public static func attribute(named name: String) -> DocumentOrder { .attribute(JSONPath(member: name)) }
}

extension StoreReading where Self: ~Copyable {
  /// Returns the documents of a collection in a different order. The collection's order doesn't change.
  ///
  /// Equal documents remain in the collection's order, even in a descending sort. Reads every header, and for `text`
  /// and `json` every text. Uses memory for each document's ID and a short key.
  ///
  /// - Returns: The IDs, or an empty array if the collection doesn't exist yet.
  /// - Throws: `damaged`.
  public func ids(in collection: DocumentCollection, sortedBy order: DocumentOrder, descending: Bool = false)
    throws(StoreError) -> [DocumentID]
  {
    try expectingStoreErrors { () throws -> [DocumentID] in
      switch order {
      case .id:
        return try sorted(collection, descending) { $0.id }
      case .created:
        return try sorted(collection, descending) { $0.created }
      case .modified:
        return try sorted(collection, descending) { $0.modified }
      case .size:
        return try sorted(collection, descending) { $0.byteCount }
      case .title:
        return try sorted(collection, descending) { BytesKey($0.title?.utf8) }
      case .key:
        return try sorted(collection, descending) { BytesKey($0.key?.bytes) }
      case .text:
        var sorter = ByteSorter(descending: descending)
        try forEach(in: collection) { sorter.append($0.header.id, $0.utf8) }
        return try sorter.sorted { id, range in
          try withText(of: id) { Array($0.utf8[clamping: range]) }
        }
      case .attribute(let path):
        return try sorted(collection, descending) { header in
          header.attributes.canonicalJSON.withUnsafeBytes { JSONSortKey(of: $0, at: path) }
        }
      case .json(let path):
        var keys: [(id: DocumentID, key: JSONSortKey)] = []
        try forEach(in: collection) { keys.append(($0.header.id, JSONSortKey(of: $0.utf8, at: path))) }
        return Self.sorted(keys, descending)
      }
    }
  }

  private func sorted<Key: Comparable>(
    _ collection: DocumentCollection, _ descending: Bool, _ key: (DocumentHeader) -> Key
  ) throws -> [DocumentID] {
    var keys: [(id: DocumentID, key: Key)] = []
    try forEachHeader(in: collection) { keys.append(($0.id, key($0))) }
    return Self.sorted(keys, descending)
  }

  /// Sorts with the standard library's stable sort.
  private static func sorted<Key: Comparable>(_ keys: [(id: DocumentID, key: Key)], _ descending: Bool)
    -> [DocumentID]
  {
    keys.sorted { descending ? $1.key < $0.key : $0.key < $1.key }.map(\.id)
  }
}

/// A sort key that compares bytes, with missing bytes first.
private struct BytesKey: Comparable {
  private let bytes: [UInt8]?

  init(_ bytes: (some Sequence<UInt8>)?) {
    self.bytes = bytes.map { Array($0) }
  }

  static func < (lhs: BytesKey, rhs: BytesKey) -> Bool {
    guard let bytes = lhs.bytes else { return rhs.bytes != nil }
    return rhs.bytes.map { bytes.lexicographicallyPrecedes($0) } ?? false
  }
}

/// Sorts long texts by their first bytes, and reads more bytes only if the first bytes are equal.
private struct ByteSorter {
  /// The number of bytes initially read from each text.
  private static let beginning = 64
  /// The maximum total number of bytes in memory of texts with equal first bytes.
  private static let budget = 16 << 20

  private struct Entry {
    let id: DocumentID
    var part: [UInt8]
  }

  private let descending: Bool
  private var entries: [Entry] = []

  init(descending: Bool) {
    self.descending = descending
  }

  mutating func append(_ id: DocumentID, _ text: UnsafeRawBufferPointer) {
    entries.append(Entry(id: id, part: Array(text.prefix(Self.beginning))))
  }

  /// Returns the sorted IDs. `part` returns the bytes of a range, up to the text's end.
  func sorted(_ part: (DocumentID, Range<Int>) throws -> [UInt8]) throws -> [DocumentID] {
    try sorted(groups(of: entries, count: Self.beginning), at: Self.beginning, part)
  }

  /// Sorts the documents of groups whose texts are equal up to an offset.
  private func sorted(
    _ groups: [Group], at offset: Int, _ part: (DocumentID, Range<Int>) throws -> [UInt8]
  ) throws -> [DocumentID] {
    try groups.flatMap { group in
      guard group.goesOn else { return group.ids }
      let count = max(Self.beginning, Self.budget / group.ids.count)
      let further = try self.groups(
        of: group.ids.map { Entry(id: $0, part: try part($0, offset..<offset + count)) }, count: count)
      return try sorted(further, at: offset + count, part)
    }
  }

  /// Documents with equal parts. Doesn't contain the parts, to keep only one group's parts in memory.
  private struct Group {
    let ids: [DocumentID]
    /// Whether the texts may differ after their parts.
    let goesOn: Bool
  }

  /// Groups documents by their parts of at most `count` bytes, in the order of the parts.
  private func groups(of entries: [Entry], count: Int) -> [Group] {
    var rest = entries.sorted {
      descending ? $1.part.lexicographicallyPrecedes($0.part) : $0.part.lexicographicallyPrecedes($1.part)
    }[...]
    var groups: [Group] = []
    while let first = rest.first {
      let alike = rest.prefix { $0.part == first.part }
      rest = rest.dropFirst(alike.count)
      // Texts that end here are equal.
      groups.append(Group(ids: alike.map(\.id), goesOn: alike.count > 1 && first.part.count == count))
    }
    return groups
  }
}

extension UnsafeRawBufferPointer {
  /// The existing bytes in `range`.
  fileprivate subscript(clamping range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[range.clamped(to: 0..<count)])
  }
}
