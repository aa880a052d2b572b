internal import CofferEngine
public import CofferRecords

extension DocumentStore {
  /// Closes the file until ``resume()``, and keeps the keys. Call this method before the system suspends your app.
  ///
  /// iOS terminates an app that's suspended while it holds a file lock in an app group's container. In WAL mode, an
  /// open store always holds a lock. In rollback journal mode, only transactions do.
  ///
  /// ```swift
  /// try await store.suspend(within: .seconds(3))
  /// // The app is in the background, and holds no lock of the store.
  /// store.resume()
  /// let titles = try await store.read { try $0.headers(in: "notes").map(\.title) }
  /// ```
  ///
  /// Call it when `UIApplication.didEnterBackgroundNotification` arrives, inside a task that
  /// `beginBackgroundTask(expirationHandler:)` began, and at the end of each `BGTask` before `setTaskCompleted(success:)`.
  /// Call ``resume()`` when `UIApplication.willEnterForegroundNotification` arrives, and at the start of each `BGTask`.
  /// Suspend every open store of a shared file, because each has its own locks.
  ///
  /// New work throws `suspended` immediately. So do threads and tasks that wait for their turn, and scopes on other
  /// threads at their next call or row. A running statement is interrupted. A `write` that hasn't committed is rolled
  /// back, and doesn't continue after ``resume()``, so finish your writes first. Calls that consist of several
  /// transactions, such as a rekey, an import in batches or an exchange of changes, end between two transactions, or in
  /// a transaction that's rolled back. Copies and backups don't leave files. Files opened by your `progress` or other
  /// closures stay open until the closure returns.
  ///
  /// The keys remain in locked memory. Cached texts and decrypted index pages are wiped. A write-ahead log isn't copied
  /// into the file. Observations and subscriptions continue after ``resume()``, and report other processes' changes
  /// since the suspension. Observations that haven't delivered an element yet throw `suspended`.
  ///
  /// Suspending a suspended store again waits for work that hasn't ended yet. `close()` works, and erases the keys.
  /// Suspending takes less than a millisecond if no work is running, regardless of the store's size. A temporary store
  /// keeps its folder's lock, because other apps can't reach the folder.
  ///
  /// - Parameter limit: The maximum time to wait for work that is running.
  /// - Throws: `locked` if a closure of `read` or `write`, or another call, hasn't returned in time. The store is then
  ///   suspended, and closes the connection when the closure returns. `closed`, or `misuse` inside this store's `read` or
  ///   `write`.
  public func suspend(within limit: Duration) throws(StoreError) {
    try engine.connections.suspend(within: limit)
  }

  /// Suspends the store on a separate thread, even if the task is canceled.
  ///
  /// - Throws: The synchronous form's errors.
  public func suspend(within limit: Duration) async throws {
    try await Task.detached { try await offCooperativePool { try self.suspend(within: limit) } }.value
  }

  /// Lets a suspended store work again.
  ///
  /// The next call opens the file, which takes about a millisecond, like opening a store without key derivation. The
  /// first transaction repeats the checks of opening, because another process may have changed the file. It throws
  /// `noSuchFile` if the file was replaced, for example by a restore. `rolledBack`, `keyChanged`, `pinMismatch` and
  /// `otherFormat` have the same meaning as when a store is opened.
  ///
  /// Waits while another thread suspends the store. Has no effect if the store isn't suspended, or is closed.
  public func resume() {
    engine.connections.resume()
  }

  /// A Boolean value that indicates whether the store is suspended.
  public var isSuspended: Bool { engine.session.isSuspended }
}
