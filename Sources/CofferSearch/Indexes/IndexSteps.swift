internal import CofferEngine
internal import CofferRecords

/// An update of an index in the file in several transactions, to let other writers write in between.
///
/// Each step also compares other writers' changes to the documents of earlier steps. Until the last step, the pages
/// don't belong to any state, so readers compare each row. Then the root refers to the current documents.
final class IndexSteps {
  /// The cost of a step. Comparing a row costs 1.
  private static let cost = 4096
  /// The cost of indexing or removing a document.
  static let documentCost = 16

  /// The contents before the first step.
  private var former: IndexRoot.Contents?
  /// The documents at the last step, or `nil` before the first step.
  private(set) var contents: IndexRoot.Contents?
  /// The root after the last step.
  private var sealedRoot: [UInt8] = []
  /// The last compared ID.
  private(set) var last: Int64 = 0
  /// The cost after which to stop, or `nil` to index all changes.
  private(set) var limit: Int? = IndexSteps.cost
  private(set) var isFinished = false

  /// Begins a step.
  ///
  /// - Returns: The contents before the first step.
  func begin(_ sealed: [UInt8], _ contents: IndexRoot.Contents?) -> IndexRoot.Contents? {
    isFinished = true
    if sealed != sealedRoot {
      // Two alternating updates would both restart repeatedly.
      if self.contents != nil { limit = nil }
      (former, self.contents, last) = (contents, nil, 0)
    }
    return former
  }

  /// Returns the contents for the root after a step.
  ///
  /// - Parameters:
  ///   - last: The last compared ID, or `nil` after all documents.
  ///   - contents: The documents at this step.
  func contents(after last: Int64?, _ contents: IndexRoot.Contents) -> IndexRoot.Contents {
    guard let last, let former else { return contents }
    // Other writers have changed more documents than a step compares.
    if last <= self.last { limit = nil }
    (self.contents, self.last, isFinished) = (contents, last, false)
    return former.partial
  }

  /// Ends a step that wrote a root.
  ///
  /// - Parameter leavesUnread: Whether dates are left to read. The root has all documents, so another update begins.
  func end(_ sealed: [UInt8], leavesUnread: Bool) {
    sealedRoot = sealed
    if leavesUnread { (contents, last, sealedRoot, isFinished) = (nil, 0, [], false) }
  }
}
