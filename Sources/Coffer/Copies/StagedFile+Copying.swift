internal import CofferRecords
internal import CofferSQLite

#if canImport(Glibc)
  internal import Glibc
#endif

extension StagedFile {
  /// Creates the file as a copy of a store, of one moment and page by page; needs no key. The copy is not checked.
  ///
  /// - Throws: errors of reading the store, `diskFull`, `ioFailure`, `cancelled` if `progress` throws.
  func makeCopy(ofStoreAt source: String, _ wait: Duration?, _ progress: ProgressHandler?) throws(StoreError) {
    try StoreFile.reading(source, wait) { store throws(StoreError) in
      try make()
      var failure: StoreError?
      do throws(SQLiteError) {
        let copy = try Database(temporary, mode: .readWrite)
        // A copy that fails before it is renamed is only thrown away.
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

  static var copyStopped: String { "the copy was stopped; nothing is left of it" }

  /// Gives the file its permissions and makes its content durable.
  func finishCopy(permissions: mode_t?) throws(StoreError) {
    let descriptor = open(temporary, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure(temporary) }
    defer { close(descriptor) }
    if let permissions { fchmod(descriptor, permissions) }
    guard fsync(descriptor) == 0 else { throw Self.failure(temporary) }
  }

  /// The permissions of an existing file.
  static func permissions(of path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }
}
