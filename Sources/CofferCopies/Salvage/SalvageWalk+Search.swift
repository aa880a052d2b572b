internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

// Searching every page for documents that the page trees no longer reach.
extension SalvageWalk {
  struct Unreadable {
    let reason: String
    /// Whether its row was read and added to the sum.
    let isSummed: Bool
  }

  struct Search {
    let strays: StrayRows?
    /// The sorted IDs to try, or `nil` while pages are searched.
    var numbers: [Int64]?
    var next = 0
  }

  /// Searches the next pages if the trees are incomplete.
  ///
  /// - Returns: Whether pages were searched. More pages may follow.
  func searchPages() throws(StoreError) -> Bool {
    if search == nil {
      // Check the set hash, because a tree can lose a part and still look sound.
      guard !unreadable.isEmpty || !numbers.holes.isEmpty || !isWhole else { return false }
      search = Search(strays: try StrayRows(source.file))
    }
    guard let search, search.numbers == nil else { return false }
    let searchedPages = search.strays?.searchNextPages { unreadable[$0] != nil || !seen.contains($0) }
    if searchedPages == true { return true }
    self.search?.numbers = Set(unreadable.keys).union(search.strays.map { Array($0.numbers) } ?? []).sorted()
    return false
  }

  /// Returns the rows of all pages, which it searches unless the documents needed that already, or `nil` if the page size
  /// is unknown. Call this method after the documents.
  func searchedPages() throws(StoreError) -> StrayRows? {
    if search == nil { search = Search(strays: try StrayRows(source.file), numbers: []) }
    while search?.strays?.searchNextPages(wanted: { !seen.contains($0) }) == true {}
    return search?.strays
  }

  /// Returns the next ID to try with the rows found on pages.
  func nextCandidateID() -> Int64? {
    guard let place = search?.next, let number = search?.numbers?[safely: place] else { return nil }
    search?.next += 1
    return number
  }

  /// Tries every row and text found for an ID. Decryption proves which ones belong together.
  func salvageStray(_ number: Int64, with copier: RowCopier, into batch: SealedBatch) throws(StoreError) {
    guard let strays = search?.strays else { return try giveUp(number) }
    let known = unreadable[number]
    func isCopied(_ row: RecordRow, _ head: HeadData) throws(StoreError) -> Bool {
      guard let text = try? opener.openBody(row, head) else { return false }
      try copy(row, head, text: text, with: copier, into: batch)
      return true
    }
    var isAuthentic = known != nil
    let isSaved: Bool
    if known?.isSummed == true {
      guard let row = try readRow(number) else { return try giveUp(number) }
      let head = try opener.openHead(row, acceptsNewer: true)
      isSaved = try strays.withBodies(number) { body throws(StoreError) in
        try isCopied(row.joined(with: body), head)
      }
    } else {
      isSaved = try strays.withRecords(number, within: Self.limits) { row throws(StoreError) in
        guard let head = try? opener.openHead(row, acceptsNewer: true) else { return false }
        isAuthentic = true
        if let whole = try withBody(row), try isCopied(whole, head) { return try isCounted(row) }
        let isFound = try strays.withBodies(number) { body throws(StoreError) in
          try isCopied(row.joined(with: body), head)
        }
        return isFound ? try isCounted(row) : false
      }
    }
    if isSaved {
      found.insert(number)
    } else if isAuthentic {
      // Report authentic rows only, because other data merely resembled a row.
      try giveUp(number)
    }
  }

  /// Adds a copied row to the sum and returns `true`.
  private func isCounted(_ row: RecordRow) throws(StoreError) -> Bool {
    _ = try prove(row)
    return true
  }

  private func giveUp(_ number: Int64) throws(StoreError) {
    guard let known = unreadable[number] else {
      isSummed = false
      throw .damagedDocument(number, "its text can't be read")
    }
    if !known.isSummed { isSummed = false }
    throw .damagedDocument(number, known.reason)
  }
}

extension Array {
  fileprivate subscript(safely index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
