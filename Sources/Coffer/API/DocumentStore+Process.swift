internal import CofferSQLite

extension DocumentStore {
  /// Stops SQLite from counting its memory, which costs a lock for the whole process at every allocation: with it two
  /// readers on two cores are slower than one.
  ///
  /// Call it first thing in a program, before anything opens a database; a program that reads SQLite's memory
  /// statistics should not.
  ///
  /// - Returns: false when SQLite was in use already; nothing has changed then.
  @discardableResult
  public static func disableMemoryStatistics() -> Bool {
    Database.disableMemoryStatistics()
  }
}
