internal import CofferRecords

/// Documents whose parents come later in the same work, were there before, or are missing.
///
/// A document names its parent by the parent's identity, so a parent is set when both are there.
package struct LaterParents: Sendable {
  private var waiting: [(id: DocumentID, parent: DocumentID)] = []

  package init() {}

  package mutating func add(_ id: DocumentID, _ parent: DocumentID) { waiting.append((id, parent)) }

  package mutating func add(_ others: LaterParents) { waiting += others.waiting }

  package var isEmpty: Bool { waiting.isEmpty }

  /// Sets the parents that exist now, and keeps the missing parents.
  ///
  /// - Parameter ignoresInvalid: Whether an invalid parent counts as missing.
  /// - Returns: The number of missing parents.
  /// - Throws: `invalidArgument` for a parent in another collection, the document itself, or its descendant.
  package mutating func resolve(_ transaction: StoreTransaction, ignoringInvalid ignoresInvalid: Bool = false)
    throws(StoreError) -> Int
  {
    var missing: [(id: DocumentID, parent: DocumentID)] = []
    // A parent can be a descendant until the descendant gets its own new parent.
    var early: [(id: DocumentID, parent: DocumentID)] = []
    for (id, parent) in waiting {
      guard try transaction.hasRow(parent), try transaction.hasRow(id) else {
        missing.append((id, parent))
        continue
      }
      if try set(parent, of: id, transaction) != nil { early.append((id, parent)) }
    }
    var former: [DocumentID?] = []
    for (id, _) in early {
      former.append(try transaction.unverifiedFields(of: id)?.parent.map { DocumentID($0) })
      try transaction.writer.setParent(of: id, to: nil)
    }
    for (index, (id, parent)) in early.enumerated() {
      guard let error = try set(parent, of: id, transaction) else { continue }
      guard ignoresInvalid else { throw error }
      missing.append((id, parent))
      if let parent = former[index] { _ = try set(parent, of: id, transaction) }
    }
    waiting = missing
    return missing.count
  }

  /// Sets a parent, or returns the error that makes it invalid.
  private func set(
    _ parent: DocumentID, of id: DocumentID, _ transaction: StoreTransaction
  ) throws(StoreError) -> StoreError? {
    guard let fields = try transaction.unverifiedFields(of: id) else { throw .noSuchDocument(id) }
    do throws(StoreError) {
      try transaction.editor.requireParent(parent, of: id.rawValue, isNew: false, in: fields.collection)
    } catch {
      guard error.code == .invalidArgument else { throw error }
      return error
    }
    try transaction.writer.setParent(of: id, to: parent.rawValue)
    return nil
  }
}
