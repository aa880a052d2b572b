package import CofferEngine
package import CofferPlatform
internal import CofferRecords
internal import CofferSQLite

extension StagedFile {
  /// Creates the file as a consistent page-by-page copy of a store, without a key. Doesn't check the copy.
  ///
  /// - Throws: Errors from reading the store, `diskFull`, `ioFailure`, or `cancelled` if `progress` throws.
  package func makeCopy(ofStoreAt source: String, _ wait: Duration?, _ progress: ProgressHandler?) throws(StoreError) {
    try StoreFile.reading(source, wait) { store throws(StoreError) in
      try make()
      var failure: StoreError?
      do throws(SQLiteError) {
        let copy = try Database(temporary, mode: .readWrite)
        // Don't journal or synchronize, because a failed copy is discarded before it's renamed.
        _ = try copy.textPragma("journal_mode = OFF")
        _ = try copy.textPragma("synchronous = OFF")
        try store.database.connection.backup(to: copy) { remaining, total in
          do throws(StoreError) {
            try WorkProgress(done: total - remaining, total: total).tell(progress, stopped: Self.copyStopped)
          } catch {
            failure = error
          }
          return failure == nil
        }
        try copy.close()
      } catch {
        throw failure ?? StoreError(error)
      }
    }
  }

  /// Makes the next transaction with keys take a new identity, because the copied file may live on (FORMAT, "Replicas").
  package func markRestored() throws(StoreError) {
    try translatingErrors(at: temporary) { () throws(SQLiteError) in
      let database = try Database(
        temporary, configuration: .ofStore(wait: nil))
      try database.execute(SQL.markRestored)
      try database.close()
    }
  }

  package static var copyStopped: String { "the copy was stopped; nothing is left of it" }

  /// Sets the file's permissions and synchronizes its contents to disk.
  package func finishCopy(permissions: mode_t?) throws(StoreError) {
    let descriptor = open(temporary, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure(temporary) }
    defer { close(descriptor) }
    if let permissions { fchmod(descriptor, permissions) }
    guard coffer_sync(descriptor) == 0 else { throw Self.failure(temporary) }
  }

  /// Returns an existing file's permissions, or `nil` if the file is missing.
  package static func permissions(of path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }
}
