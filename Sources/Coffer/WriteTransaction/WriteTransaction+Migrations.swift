internal import CofferEngine
internal import CofferRecords

extension Migration {
  /// Creates a migration.
  ///
  /// - Parameters:
  ///   - name: The name, from 1 to 128 bytes of UTF-8, which must never change.
  ///   - change: Changes the store in the transaction of all migrations. Errors that aren't store errors become
  ///     `migrationFailed`.
  public init(_ name: String, _ change: @escaping @Sendable (inout WriteTransaction) throws -> Void) {
    self.init(name: name) { transaction in
      var writer = WriteTransaction(transaction)
      try change(&writer)
    }
  }
}

extension StoreReading where Self: ~Copyable {
  /// Returns the names of the migrations that the store has made, sorted by their bytes.
  ///
  /// - Throws: `damaged`.
  public func appliedMigrations() throws(StoreError) -> [String] {
    transaction.notes?.noteEverything()
    return try transaction.appliedMigrations()
  }
}
