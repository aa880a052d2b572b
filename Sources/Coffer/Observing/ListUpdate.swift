internal import CofferEngine
internal import CofferRecords

/// The rows that a change removes from a list or places in it.
struct ListUpdate<Element: Sendable> {
  typealias Placed = (id: DocumentID, row: ListDifference<Element>.Placed)

  private let order: ListOrder
  /// The indexes of removed rows in the old list, in ascending order.
  private(set) var gone: [Int]
  /// The placed rows, sorted by index in the new list.
  private(set) var placed: [Placed] = []
  /// A row beyond the limit, if any. Documents after the list's last row aren't known otherwise.
  private(set) var beyond: DocumentID?
  private var kept: KeptRows
  private let record: CollectionRecord
  private let content: ListContent<Element>
  private let transaction: StoreTransaction

  init(
    _ order: ListOrder, without gone: [Int], _ beyond: DocumentID?, in record: CollectionRecord,
    _ content: ListContent<Element>, _ transaction: StoreTransaction
  ) {
    (self.order, self.gone, self.beyond, self.record) = (order, gone, beyond, record)
    (self.content, self.transaction) = (content, transaction)
    kept = KeptRows(order, without: gone, in: CollectionID(record.id), transaction)
  }

  private var count: Int { kept.count + placed.count }

  /// Places the rows for new, moved and changed documents.
  ///
  /// - Parameter headers: The documents in the collection's order, without kept rows.
  /// - Returns: `false` if no kept row shows where the list ends.
  mutating func place(_ headers: [DocumentHeader]) throws(StoreError) -> Bool {
    guard beyond == nil || kept.count > 0 else { return false }
    for header in headers {
      let place = try kept.count(before: header)
      // Beyond the limit, it's enough to know whether more rows exist.
      if beyond != nil, place == kept.count { continue }
      guard let element = try content.element(of: header, transaction) else { continue }
      append(header.id, element, at: place + placed.count)
    }
    return true
  }

  private mutating func append(_ id: DocumentID, _ element: Element, at index: Int) {
    placed.append((id, ListDifference.Placed(element: element, from: order.index(of: id), to: index)))
  }

  /// Removes the rows beyond the limit, or reads the rows that follow the last row.
  ///
  /// - Parameter isBeyondStale: Whether the known row beyond the limit may not exist anymore.
  mutating func fit(to limit: Int, isBeyondStale: Bool) throws(StoreError) {
    if count > limit {
      cut(to: limit)
    } else if beyond != nil, isBeyondStale || count < limit {
      let (end, missing) = (count, limit - count)
      let last = try kept.header(at: kept.count - 1)
      let rows = try content.rows(of: record, after: last, limit: missing + 1, transaction)
      for (index, row) in rows.prefix(missing).enumerated() { append(row.id, row.element, at: end + index) }
      beyond = rows.count > missing ? rows[missing].id : nil
    }
  }

  private mutating func cut(to limit: Int) {
    let staying = placed.prefix { $0.row.to < limit }
    let cut = kept.count - (limit - staying.count)
    if staying.count < placed.count, placed[staying.count].row.to == limit {
      beyond = placed[staying.count].id
    } else {
      beyond = kept[limit - staying.count]
    }
    let cutRows = (kept.count - cut..<kept.count).map { kept.oldIndex(of: $0) }
    placed = Array(staying)
    gone = (gone + cutRows).sorted()
  }
}
