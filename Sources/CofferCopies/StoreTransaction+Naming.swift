package import CofferEngine
package import CofferRecords

extension StoreTransaction {
  /// Adds the store's path to errors about its rows, because another store is read at the same time.
  ///
  /// - Parameter hint: What to do about the error, or `nil` to keep its hint.
  package func naming<R>(hint: ErrorHint? = nil, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      guard error.code == .setMismatch || error.code == .damaged else { throw error }
      throw StoreError(
        error.code, "\(connection.file.path): \(error.message)", hint: hint ?? error.advice,
        documentID: error.documentID)
    }
  }
}
