// Numbers that were given, and are never given again.
extension ReadScope where Self: ~Copyable {
  /// The highest number that was ever given to a document, be it still there or not; nil where none was.
  public var highestID: DocumentID? {
    transaction.state.nextID > 1 ? DocumentID(transaction.state.nextID - 1) : nil
  }
}

extension Writer {
  /// Counts numbers up to this one as given, so that new documents get higher ones.
  ///
  /// - Throws: `invalidArgument` for a number that leaves none to give.
  public func reserveIDs(through id: DocumentID) throws(StoreError) {
    guard id.rawValue < Int64.max - 1 else {
      throw StoreError(.invalidArgument, "a counter that leaves no number for new documents")
    }
    guard id.rawValue >= 1, UInt64(id.rawValue) >= transaction.state.nextID else { return }
    try transaction.willWrite()
    transaction.state.nextID = UInt64(id.rawValue) + 1
  }
}
