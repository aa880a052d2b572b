internal import Coffer

/// The documents of a collection that are shown, in the chosen order: all of them, or those found.
struct DocumentList {
  /// The orders, by the letter that chooses them.
  enum Order: Character, CaseIterable {
    case position = "p"
    case title = "t"
    case modified = "m"
    case created = "c"
    case size = "s"
    case key = "k"
    case id = "i"

    var name: String { "\(self)" }

    fileprivate var documentOrder: DocumentOrder? {
      switch self {
      case .position: nil
      case .title: .title
      case .modified: .modified
      case .created: .created
      case .size: .size
      case .key: .key
      case .id: .id
      }
    }
  }

  /// A search in titles only, which opens no text, or in everything.
  struct Search: Equatable {
    let words: String
    let isInTitlesOnly: Bool

    var fields: SearchFields { isInTitlesOnly ? .title : .all }

    /// Small letters find capitals too, and plain letters find accented ones; any other letter finds itself alone.
    func pattern() throws -> SearchPattern {
      var differences: TextDifferences = .composition
      if words == words.lowercased() { differences.insert(.case) }
      if words.utf8.allSatisfy({ $0 < 0x80 }) { differences.insert(.diacritics) }
      return try .text(words, ignoring: differences)
    }
  }

  let collection: CollectionInfo
  private(set) var ids: [DocumentID] = []
  private(set) var order = Order.position
  private(set) var isDescending = false
  private(set) var search: Search?
  /// All documents in the chosen order.
  private var all: [DocumentID] = []

  init(
    of collection: CollectionInfo, in reader: borrowing StoreReader, by order: Order = .position,
    descending: Bool = false, _ progress: ProgressHandler
  ) throws {
    self.collection = collection
    try sort(by: order, descending: descending, in: reader, progress)
  }

  /// - Throws: errors of `progress`; then the list is as it was.
  mutating func sort(
    by order: Order, descending: Bool, in reader: borrowing StoreReader, _ progress: ProgressHandler
  ) throws {
    var sorted: [DocumentID] = []
    if let wanted = order.documentOrder {
      sorted = try reader.ids(in: collection.handle, sortedBy: wanted, descending: descending)
    } else {
      let total = collection.count
      try reader.forEachHeader(in: collection.handle) { header in
        sorted.append(header.id)
        if sorted.count % 4096 == 0 {
          try progress(WorkProgress(done: sorted.count, total: max(total, sorted.count)))
        }
      }
      if descending { sorted.reverse() }
    }
    let shown = Set(ids)
    ids = search == nil ? sorted : sorted.filter(shown.contains)
    all = sorted
    self.order = order
    isDescending = descending
  }

  /// Shows the documents that a search finds, or all of them without one.
  ///
  /// - Throws: errors of `progress`; then the list is as it was.
  mutating func find(_ search: Search?, in reader: borrowing StoreReader, _ progress: @escaping ProgressHandler) throws
  {
    guard let search, !search.words.isEmpty else {
      (self.search, ids) = (nil, all)
      return
    }
    var found: [DocumentID] = []
    try reader.forEachMatch(
      of: search.pattern(), in: collection.handle, fields: search.fields, progress: progress
    ) { document in
      found.append(document.document.header.id)
    }
    if order != .position || isDescending {
      let set = Set(found)
      found = all.filter(set.contains)
    }
    (self.search, ids) = (search, found)
  }

  /// The place of a document; of one that is not shown, the place of the next one that is.
  func index(of id: DocumentID?, near index: Int) -> Int {
    if index < ids.count, ids[index] == id { return index }
    guard let id else { return 0 }
    if let same = ids.firstIndex(of: id) { return same }
    guard search != nil, let place = all.firstIndex(of: id) else { return max(0, min(index, ids.count - 1)) }
    let shown = Set(ids)
    return all[place...].first(where: shown.contains).flatMap { ids.firstIndex(of: $0) } ?? 0
  }
}
