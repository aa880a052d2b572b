internal import CofferEngine
internal import CofferRecords

extension Migration {
  /// Creates a migration.
  ///
  /// - Parameters:
  ///   - name: The name, of 1 to 128 UTF-8 bytes, which must never change.
  ///   - change: A closure that changes the store in the transaction of all migrations. Errors that aren't store errors
  ///     become `migrationFailed`.
  public init(_ name: String, _ change: @escaping @Sendable (inout WriteTransaction) throws -> Void) {
    self.init(name: name) { transaction in
      var writer = WriteTransaction(transaction)
      try change(&writer)
    }
  }
}

extension StoreReading where Self: ~Copyable {
  /// Returns the names of the store's applied migrations, sorted by their bytes.
  ///
  /// - Throws: `damaged`.
  public func appliedMigrations() throws(StoreError) -> [String] {
    transaction.notes?.noteEverything()
    return try transaction.appliedMigrations()
  }
}
