internal import CofferEngine
internal import CofferRecords

/// An update of an index in the file by several transactions, between which other writers have their turns.
///
/// Until the last one, the root names the documents that it named before. Then it names those before the first one.
/// Changed documents may be in the index already, and are compared later.
final class IndexSteps {
  /// The cost of a step. A compared row costs 1.
  static let limit = 4096
  /// The cost of a document that is indexed or removed.
  static let documentCost = 16

  /// The documents before the first step.
  private var contents: IndexRoot.Contents?
  /// The root after the last step.
  private var sealedRoot: [UInt8] = []
  /// The last compared ID.
  private var last: Int64 = 0
  private(set) var isFinished = false

  /// Begins a step.
  ///
  /// - Returns: The last ID that earlier steps have compared, or 0 if the index isn't the one that they wrote.
  func begin(_ sealed: [UInt8], _ contents: IndexRoot.Contents) -> Int64 {
    isFinished = true
    if sealed != sealedRoot { (self.contents, last) = (nil, 0) }
    self.contents = self.contents ?? contents
    return last
  }

  /// Returns the contents for the root after a step.
  ///
  /// - Parameters:
  ///   - last: The last compared ID, or `nil` after all documents.
  ///   - former: The contents that the root names.
  func contents(after last: Int64?, _ former: IndexRoot.Contents?) -> IndexRoot.Contents? {
    guard let last else { return contents }
    (self.last, isFinished) = (last, false)
    return former
  }

  /// Ends a step that wrote a root.
  func end(_ sealed: [UInt8]) { sealedRoot = sealed }
}
