internal import Coffer

/// The documents of a collection in the selected order, either all documents or the results of a search.
struct DocumentList {
  /// An order. Its raw value is the letter that selects it.
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

  /// A search in titles, which doesn't open texts, or in titles and texts.
  struct Search: Equatable {
    let words: String
    let isInTitlesOnly: Bool

    var fields: SearchPattern.Fields { isInTitlesOnly ? .title : .all }

    /// Returns the pattern to search for.
    ///
    /// Words in lower case also match capitals, and words without accents also match accented letters.
    func pattern() throws -> SearchPattern {
      var differences: SearchPattern.Differences = .composition
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
  /// All documents in the selected order.
  private var all: [DocumentID] = []

  init(
    of collection: CollectionInfo, in reader: borrowing ReadTransaction, by order: Order = .position,
    descending: Bool = false, _ progress: ProgressHandler
  ) throws {
    self.collection = collection
    try sort(by: order, descending: descending, in: reader, progress)
  }

  /// Sorts the documents. Errors of `progress` leave the list unchanged.
  mutating func sort(
    by order: Order, descending: Bool, in reader: borrowing ReadTransaction, _ progress: ProgressHandler
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

  /// Shows the results of a search, or all documents if `search` is `nil`.
  ///
  /// Errors of `progress` leave the list unchanged.
  mutating func find(
    _ search: Search?, in reader: borrowing ReadTransaction, _ progress: @escaping ProgressHandler
  ) throws {
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

  /// Returns the document's index, or the index of the next visible document if a search excludes it.
  func index(of id: DocumentID?, near index: Int) -> Int {
    if index < ids.count, ids[index] == id { return index }
    guard let id else { return 0 }
    if let same = ids.firstIndex(of: id) { return same }
    guard search != nil, let place = all.firstIndex(of: id) else { return max(0, min(index, ids.count - 1)) }
    let shown = Set(ids)
    return all[place...].first(where: shown.contains).flatMap { ids.firstIndex(of: $0) } ?? 0
  }
}
