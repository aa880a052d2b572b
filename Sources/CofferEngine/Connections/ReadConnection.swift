/// The exclusive use of a connection for reading. Destroying the lease returns the connection to its pool.
package struct ReadConnection: ~Copyable {
  package let connection: StoreConnection
  private let pool: ConnectionPool
  // Destroyed last, because a closing thread continues then and must find the connection released.
  private let registration: Registration

  /// The registration of a thread as a reader, which a closing thread waits for.
  private struct Registration: ~Copyable {
    let pool: ConnectionPool
    let thread: UInt
    /// The number of the read in WAL mode.
    let number: UInt64?

    deinit { pool.endReading(thread, number) }
  }

  /// - Throws: `closed`, or `misuse` inside this thread's `write` in rollback journal mode, because a reader would
  ///   wait for the writer once its pages no longer fit the cache.
  ///   `cancelled` during the wait for a free reader.
  init(
    _ pool: ConnectionPool, _ cancellation: Cancellation?, wait: Duration?, turn: FairTurn?
  ) throws(StoreError) {
    let cancellation = cancellation ?? .current
    let (thread, number) = try pool.beginReading(wait: wait, cancellation, turn: turn)
    let registration = Registration(pool: pool, thread: thread, number: number)
    let connection = try pool.takeReader(wait: wait)
    do throws(StoreError) {
      try connection.beginWork(cancellation)
    } catch {
      pool.giveBack(connection)
      throw error
    }
    self.connection = connection
    self.pool = pool
    self.registration = registration
  }

  deinit {
    connection.endWork()
    pool.giveBack(connection)
  }
}
