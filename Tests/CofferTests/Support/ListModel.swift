import Coffer
import Testing

@testable import CofferStoreTestSupport

/// An app's copy of a list, updated in each of the ways to read a change.
struct ListModel {
  private(set) var rows: [DocumentHeader] = []
  private var byApply: [DocumentHeader] = []
  private var bySteps: [DocumentHeader] = []

  mutating func take(_ change: ListChange, _ location: SourceLocation = #_sourceLocation) throws {
    try #require(change.countBefore == rows.count, sourceLocation: location)
    try change.apply(to: &byApply)
    for step in change.steps { try take(step, location) }
    rows = try applyingLikeTableView(change, location)
    #expect(byApply == rows, sourceLocation: location)
    #expect(bySteps == rows, sourceLocation: location)
  }

  /// Applies a change like UIKit. Deletions and move sources use indexes before the change, insertions and move targets
  /// use indexes after it, and all other rows keep their order.
  private func applyingLikeTableView(_ change: ListChange, _ location: SourceLocation) throws -> [DocumentHeader] {
    let gone = change.deleted + change.moved.map(\.from)
    try #require(Set(gone).count == gone.count && Set(gone).isSubset(of: rows.indices), sourceLocation: location)
    var result = [DocumentHeader?](repeating: nil, count: change.count)
    for row in change.inserted {
      try #require(result[row.index] == nil, sourceLocation: location)
      result[row.index] = row.header
    }
    for move in change.moved {
      try #require(result[move.to] == nil && rows[move.from].id == move.header.id, sourceLocation: location)
      result[move.to] = move.header
    }
    var rest = rows.indices.filter { !gone.contains($0) }.map { rows[$0] }[...]
    for index in result.indices where result[index] == nil { result[index] = rest.popFirst() }
    #expect(rest.isEmpty && result.allSatisfy { $0 != nil }, sourceLocation: location)
    for update in change.updated {
      #expect(rows[update.from].id == update.header.id, sourceLocation: location)
      #expect(result[update.index]?.id == update.header.id, sourceLocation: location)
      result[update.index] = update.header
    }
    return result.compactMap { $0 }
  }

  private mutating func take(_ step: ListChange.Step, _ location: SourceLocation) throws {
    switch step {
    case .delete(let index): bySteps.remove(at: index)
    case .insert(let header, let index): bySteps.insert(header, at: index)
    case .move(let from, let to, let header):
      #expect(bySteps[from].id == header.id, sourceLocation: location)
      bySteps.move(from: from, toOffset: to > from ? to + 1 : to)
      bySteps[to] = header
    case .update(let header, let index):
      #expect(bySteps[index].id == header.id, sourceLocation: location)
      bySteps[index] = header
    }
  }

  /// Compares the list with the store.
  func expectSame(as headers: [DocumentHeader], _ location: SourceLocation = #_sourceLocation) {
    #expect(rows == headers, sourceLocation: location)
  }
}

extension [DocumentHeader] {
  /// Moves one row like SwiftUI's `move(fromOffsets:toOffset:)`.
  fileprivate mutating func move(from source: Int, toOffset offset: Int) {
    let row = self[source]
    insert(row, at: offset)
    remove(at: source < offset ? source : source + 1)
  }
}
