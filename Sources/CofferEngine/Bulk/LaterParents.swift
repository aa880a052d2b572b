internal import CofferRecords

/// Documents whose parents come later in the same work, were there before, or are missing.
///
/// A document names its parent by the parent's identity, so a parent is set when both are there.
package struct LaterParents {
  private var waiting: [(id: DocumentID, parent: DocumentID)] = []

  package init() {}

  package mutating func add(_ id: DocumentID, _ parent: DocumentID) { waiting.append((id, parent)) }

  /// Sets the parents that are there now.
  ///
  /// - Parameter ignoresInvalid: Whether an invalid parent counts as missing.
  /// - Returns: The number of missing parents.
  /// - Throws: `invalidArgument` for a parent in another collection, the document itself, or one of its descendants.
  package mutating func resolve(_ transaction: StoreTransaction, ignoringInvalid ignoresInvalid: Bool = false)
    throws(StoreError) -> Int
  {
    defer { waiting = [] }
    var missing = 0
    for (id, parent) in waiting {
      guard try transaction.hasRow(parent), let fields = try transaction.unverifiedFields(of: id) else {
        missing += 1
        continue
      }
      do throws(StoreError) {
        try transaction.editor.requireParent(parent, of: id.rawValue, isNew: false, in: fields.collection)
      } catch {
        guard ignoresInvalid, error.code == .invalidArgument else { throw error }
        missing += 1
        continue
      }
      try transaction.writer.setParent(of: id, to: parent.rawValue)
    }
    return missing
  }
}
