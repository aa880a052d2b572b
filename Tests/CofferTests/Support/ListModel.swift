import Coffer
import Testing

@testable import CofferStoreTestSupport

/// An app's copy of a list, updated in each of the ways to read a change.
struct ListModel<Row: Sendable & Identifiable & Equatable> {
  private(set) var rows: [Row] = []
  private var byApply: [Row] = []
  private var bySteps: [Row] = []

  mutating func take(_ change: ListChange<Row>, _ location: SourceLocation = #_sourceLocation) throws {
    try #require(change.countBefore == rows.count, sourceLocation: location)
    try change.apply(to: &byApply)
    for step in change.steps { try take(step, location) }
    rows = try applyingLikeTableView(change, location)
    #expect(byApply == rows, sourceLocation: location)
    #expect(bySteps == rows, sourceLocation: location)
  }

  /// Applies a change like UIKit. Deletions and move sources use indexes before the change, insertions and move targets
  /// use indexes after it, and all other rows keep their order.
  private func applyingLikeTableView(_ change: ListChange<Row>, _ location: SourceLocation) throws -> [Row] {
    let gone = change.deleted + change.moved.map(\.from)
    try #require(Set(gone).count == gone.count && Set(gone).isSubset(of: rows.indices), sourceLocation: location)
    var result = [Row?](repeating: nil, count: change.count)
    for row in change.inserted {
      try #require(result[row.index] == nil, sourceLocation: location)
      result[row.index] = row.element
    }
    for move in change.moved {
      try #require(result[move.to] == nil && rows[move.from].id == move.element.id, sourceLocation: location)
      result[move.to] = move.element
    }
    var rest = rows.indices.filter { !gone.contains($0) }.map { rows[$0] }[...]
    for index in result.indices where result[index] == nil { result[index] = rest.popFirst() }
    #expect(rest.isEmpty && result.allSatisfy { $0 != nil }, sourceLocation: location)
    for update in change.updated {
      #expect(rows[update.from].id == update.element.id, sourceLocation: location)
      #expect(result[update.index]?.id == update.element.id, sourceLocation: location)
      result[update.index] = update.element
    }
    return result.compactMap { $0 }
  }

  private mutating func take(_ step: ListChange<Row>.Step, _ location: SourceLocation) throws {
    switch step {
    case .delete(let index): bySteps.remove(at: index)
    case .insert(let row, let index): bySteps.insert(row, at: index)
    case .move(let from, let to, let row):
      #expect(bySteps[from].id == row.id, sourceLocation: location)
      bySteps.move(from: from, toOffset: to > from ? to + 1 : to)
      bySteps[to] = row
    case .update(let row, let index):
      #expect(bySteps[index].id == row.id, sourceLocation: location)
      bySteps[index] = row
    }
  }

  /// Compares the list with the store.
  func expectSame(as others: [Row], _ location: SourceLocation = #_sourceLocation) {
    #expect(rows == others, sourceLocation: location)
  }
}

extension Array {
  /// Moves one row like SwiftUI's `move(fromOffsets:toOffset:)`.
  fileprivate mutating func move(from source: Int, toOffset offset: Int) {
    let row = self[source]
    insert(row, at: offset)
    remove(at: source < offset ? source : source + 1)
  }
}
