internal import CofferEngine
public import CofferRecords

extension DocumentStore {
  /// Closes the file until ``resume()``, and keeps the keys. Call this method before the system suspends your app.
  ///
  /// iOS ends an app that is suspended while it holds a lock of a file in the container of an app group. In WAL mode,
  /// an open store always holds one. In rollback journal mode, only transactions do.
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
  /// New work throws `suspended` at once. So do threads and tasks that wait for their turn, and scopes on other threads at
  /// their next call or row. A running statement is interrupted. A `write` that hasn't committed is rolled back, and
  /// doesn't continue after ``resume()``, so finish your writes first. Calls that consist of several transactions, such as
  /// a rekey, an import in batches or an exchange of changes, end between two transactions, or in one that is rolled
  /// back. Copies and backups leave no file. Files that your code reads or writes in `progress` or other closures stay
  /// open until the closure returns.
  ///
  /// The keys stay in locked memory. Cached texts and decrypted index pages are wiped. A write-ahead log isn't copied into
  /// the file. Observations and subscriptions stay, and report after ``resume()`` what other processes wrote in the
  /// meantime. An observation that hasn't delivered anything yet throws `suspended`.
  ///
  /// Suspending a suspended store again waits for work that hadn't ended the first time. `close()` works, and erases the
  /// keys. Suspending takes less than a millisecond if no work is running, whatever the store's size. A temporary store
  /// keeps the lock of its folder, which no other app can reach.
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
  /// The next call opens the file, which takes as long as opening a store without deriving its key: about a
  /// millisecond. The first transaction repeats the checks of opening, because another process may have changed the file.
  /// It throws `noSuchFile` if another file has its place, for example after a restore. `rolledBack`, `keyChanged`,
  /// `pinMismatch` or `otherFormat` mean the same as when a store is opened.
  ///
  /// Waits while another thread suspends the store. Does nothing if the store isn't suspended, or is closed.
  public func resume() {
    engine.connections.resume()
  }

  /// A Boolean value that indicates whether the store is suspended.
  public var isSuspended: Bool { engine.session.isSuspended }
}
