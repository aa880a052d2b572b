/// The exclusive use of the connection for writing. Destroying the lease lets the next writer continue.
package struct WriteConnection: ~Copyable {
  package let connection: StoreConnection
  private let pool: ConnectionPool
  // Destroyed last, because the next writer or a closing thread continues then and must find the connection released.
  private let turn: Turn

  /// This thread's turn to write.
  private struct Turn: ~Copyable {
    let pool: ConnectionPool

    deinit { pool.endWriting() }
  }

  /// Waits for this thread's turn, in call order.
  ///
  /// - Throws: `misuse` inside another `write` of this thread, or inside a `read` that would block its commit,
  ///   including other open stores of the same file. `locked` if other writers hold the lock for too long. `closed`.
  // Swift 6.3's optimizer ends with an ownership error if it inlines this into a function that can throw.
  @inline(never)
  init(
    _ pool: ConnectionPool, _ cancellation: Cancellation?, wait: Duration?, turn: FairTurn?
  ) throws(StoreError) {
    let cancellation = cancellation ?? .current
    try pool.beginWriting(wait: wait, cancellation, turn: turn)
    let turn = Turn(pool: pool)
    connection = try pool.lockedWriter(wait: wait, cancellation)
    self.pool = pool
    self.turn = turn
  }

  /// Copies a long log into the file. Call this method after a commit.
  func checkpointIfLong() {
    connection.endWork()
    pool.writeAheadLock?.checkpointIfLong(connection.database.connection, path: pool.place.path)
  }

  deinit {
    connection.endWork()
    pool.unlockWriter(connection)
  }
}
