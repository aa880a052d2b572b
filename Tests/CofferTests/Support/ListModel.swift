import Coffer
import Testing

/// A list as an app keeps it, brought up to date in each of the ways that a change can be read.
struct ListModel {
  private(set) var rows: [DocumentHeader] = []
  private var byApply: [DocumentHeader] = []
  private var bySteps: [DocumentHeader] = []

  mutating func take(_ change: ListChange, _ location: SourceLocation = #_sourceLocation) throws {
    try #require(change.countBefore == rows.count, sourceLocation: location)
    try change.apply(to: &byApply)
    for step in change.steps { try take(step, location) }
    rows = try asTableViewsDo(change, location)
    #expect(byApply == rows, sourceLocation: location)
    #expect(bySteps == rows, sourceLocation: location)
  }

  /// UIKit: deletions and move sources are indexes before, insertions and move targets indexes after; all other rows
  /// keep their order.
  private func asTableViewsDo(_ change: ListChange, _ location: SourceLocation) throws -> [DocumentHeader] {
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

  /// Compares with the store. Rows that made room for others may have had other positions when they were reported.
  func expectSame(as headers: [DocumentHeader], _ location: SourceLocation = #_sourceLocation) {
    #expect(rows.map(\.id) == headers.map(\.id), sourceLocation: location)
    #expect(rows.map(\.withoutPosition) == headers.map(\.withoutPosition), sourceLocation: location)
  }
}

extension DocumentHeader {
  fileprivate var withoutPosition: DocumentHeader {
    DocumentHeader(
      id: id, collection: collection, position: 0, parent: parent, title: title, key: key, attributes: attributes,
      created: created, modified: modified, byteCount: byteCount, isJSON: isJSON)
  }
}

extension [DocumentHeader] {
  /// As SwiftUI's `move(fromOffsets:toOffset:)` moves one row.
  fileprivate mutating func move(from source: Int, toOffset offset: Int) {
    let row = self[source]
    insert(row, at: offset)
    remove(at: source < offset ? source : source + 1)
  }
}
