internal import CofferRecords
internal import CofferSQLite

// Documents that no tree of pages leads to any more: searched for on every page.
extension SalvageWalk {
  struct Unreadable {
    let reason: String
    /// Its row was read, and is in the sum.
    let isSummed: Bool
  }

  struct Search {
    let strays: StrayRows?
    /// The ids worth a second look, sorted; nil while pages are searched.
    var numbers: [Int64]?
    var next = 0
  }

  /// Searches the next pages, if the trees left anything to search for.
  ///
  /// - Returns: whether it searched; there may be more pages.
  func searchPages() throws(StoreError) -> Bool {
    if search == nil {
      // A tree may have lost a part and look sound: the set hash shows it.
      guard !unreadable.isEmpty || !numbers.holes.isEmpty || !isWhole else { return false }
      search = Search(strays: try StrayRows(source.file))
    }
    guard let search, search.numbers == nil else { return false }
    let hasLooked = search.strays?.lookAtMorePages { unreadable[$0] != nil || !seen.contains($0) }
    if hasLooked == true { return true }
    self.search?.numbers = Set(unreadable.keys).union(search.strays.map { Array($0.numbers) } ?? []).sorted()
    return false
  }

  /// The next id worth a look on the pages themselves.
  func nextStray() -> Int64? {
    guard let place = search?.next, let number = search?.numbers?[safely: place] else { return nil }
    search?.next += 1
    return number
  }

  /// Tries every row and text that was found for an id; the seals decide which belong together.
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
      let head = try opener.openHead(row)
      isSaved = try strays.withBodies(number) { body throws(StoreError) in
        try isCopied(row.joined(with: body), head)
      }
    } else {
      isSaved = try strays.withRecords(number, within: Self.limits) { row throws(StoreError) in
        guard let head = try? opener.openHead(row) else { return false }
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
      // It only looked like a row, so nothing is lost.
      try giveUp(number)
    }
  }

  /// Whether a row that was copied belongs to the sum.
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
