// Numbers that were given, and are never given again.
extension ReadScope where Self: ~Copyable {
  /// The highest number that was ever given to a document, be it still there or not; 0 for none.
  public var highestID: Int64 { Int64(clamping: transaction.state.nextID) - 1 }
}

extension Writer {
  /// Counts numbers up to this one as given, so that new documents get higher ones.
  ///
  /// - Throws: `invalidArgument` for a number that leaves none to give.
  public func reserveIDs(through id: Int64) throws(StoreError) {
    guard id < Int64.max - 1 else {
      throw StoreError(.invalidArgument, "a counter that leaves no number for new documents")
    }
    guard id > highestID else { return }
    try transaction.willWrite()
    transaction.state.nextID = UInt64(id) + 1
  }
}
