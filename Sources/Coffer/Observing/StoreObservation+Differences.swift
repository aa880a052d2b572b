internal import CofferEngine
internal import CofferRecords

extension StoreObservation where Element: Collection, Element.Element: Sendable & Equatable {
  /// Returns the differences between results, for displaying them as a list.
  ///
  /// ```swift
  /// let cheap = store.observe { try $0.query("SELECT id, title FROM notes WHERE price < ?", 10) }
  /// for try await change in cheap.differences(by: { $0["id"] }) {
  ///   try change.apply(to: &rows)
  /// }
  /// ```
  ///
  /// The first element inserts the whole result. Each later element is the difference from the previous result. Rows
  /// with equal IDs are the same row, which is updated if it isn't equal. If several rows have the same ID, they're the
  /// same rows in their order.
  ///
  /// Each iteration keeps the last result. Comparing takes time for each row, like reading.
  ///
  /// - Parameter id: Returns a row's ID.
  /// - Returns: A sequence that ends and throws like this sequence.
  public func differences<ID: Hashable & Sendable>(
    by id: @escaping @Sendable (Element.Element) -> ID
  ) -> StoreObservation<ListChange<Element.Element>> {
    StoreObservation<ListChange<Element.Element>> { [iterate] in DifferencesIteration(iterate(), id) }
  }

  /// Returns the differences between results, for displaying them as a list. Rows are identified by their `id`, as in
  /// ``differences(by:)``.
  public func differences() -> StoreObservation<ListChange<Element.Element>>
  where Element.Element: Identifiable, Element.Element.ID: Sendable {
    differences { $0.id }
  }
}

/// An iteration over the differences between another iteration's elements.
private final class DifferencesIteration<Rows: Collection & Sendable, ID: Hashable & Sendable>:
  ObservationIteration, @unchecked Sendable
where Rows.Element: Sendable & Equatable {
  /// An ID, and the number of rows with that ID before it.
  private struct Place: Hashable {
    let id: ID
    let number: Int
  }

  // Sendable because one task at a time uses an iterator.
  private var rows: [Rows.Element] = []
  private var places: [Place] = []
  private var isBeginning = true

  private let base: any ObservationIteration<Rows>
  private let id: @Sendable (Rows.Element) -> ID

  init(_ base: any ObservationIteration<Rows>, _ id: @escaping @Sendable (Rows.Element) -> ID) {
    (self.base, self.id) = (base, id)
  }

  var generation: UInt64 { base.generation }

  func next() async throws(StoreError) -> ListChange<Rows.Element>? {
    while let found = try await base.next() {
      let change = take(Array(found))
      if isBeginning || !change.isEmpty {
        isBeginning = false
        return change
      }
    }
    return nil
  }

  private func take(_ new: [Rows.Element]) -> ListChange<Rows.Element> {
    var numbers: [ID: Int] = [:]
    let newPlaces = new.map { row in
      let id = id(row)
      defer { numbers[id, default: 0] += 1 }
      return Place(id: id, number: numbers[id, default: 0])
    }
    let difference = ListDifference(from: places, to: newPlaces, element: { new[$0] }) { rows[$0] != new[$1] }
    defer { (rows, places) = (new, newPlaces) }
    return ListChange(difference, from: rows.count, to: new.count, hasMore: false, at: base.generation)
  }
}
