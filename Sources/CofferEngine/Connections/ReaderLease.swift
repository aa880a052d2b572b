/// The exclusive use of a connection for reading. Destroying the lease returns the connection to its pool.
package struct ReaderLease: ~Copyable {
  package let connection: StoreConnection
  private let pool: ConnectionPool
  private let thread: UInt

  /// - Throws: `closed`, or `misuse` inside this thread's `write` in rollback journal mode, because a reader would
  ///   wait for the writer once its pages no longer fit the cache.
  init(_ pool: ConnectionPool, _ cancellation: Cancellation?) throws(StoreError) {
    let thread = try pool.beginReading()
    do throws(StoreError) {
      let connection = try pool.takeReader()
      do throws(StoreError) {
        try connection.beginWork(cancellation ?? .current)
      } catch {
        pool.giveBack(connection)
        throw error
      }
      self.connection = connection
    } catch {
      pool.endReading(thread)
      throw error
    }
    self.pool = pool
    self.thread = thread
  }

  deinit {
    connection.endWork()
    pool.giveBack(connection)
    // A closing thread waits for this, so the connection must already be closed or in the pool.
    pool.endReading(thread)
  }
}
