internal import CofferSQLite
internal import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

// The place of a new store: looked at before anything is made, and taken when all is written.

extension StoreMaker {
  /// Refuses a place where something stands that may not be replaced, or what would be read as part of the new store.
  ///
  /// SQLite would undo a journal that an older store left there into the new one.
  func checkPlace() throws(StoreError) {
    var status = stat()
    if lstat(path, &status) == 0 {
      guard replacesExisting, status.st_mode & S_IFMT == S_IFREG else {
        throw StoreError(.alreadyExists, "\(path): something stands there already; it was left as it is")
      }
      var read = stat()
      if let source, stat(source, &read) == 0, read.st_dev == status.st_dev, read.st_ino == status.st_ino {
        throw StoreError(.alreadyExists, "\(path) is what is being read: an output never goes over an input")
      }
    }
    for suffix in ["-journal", "-wal"] where lstat(path + suffix, &status) == 0 {
      throw StoreError(
        .alreadyExists, "\(path)\(suffix) belongs to another store: a new one would be read with it",
        hint: "close and open that store once, or remove the file if the store is gone")
    }
  }

  /// Gives the finished file its name, unless something took it meanwhile, and makes the name durable.
  func publish(_ draft: Draft) throws(StoreError) {
    do throws(StoreError) {
      try setJournal(draft.path)
      try checkPlace()
      try takeName(draft.path)
    } catch {
      discard(draft.path)
      throw error
    }
    let directory = Glibc.open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory >= 0 {
      fsync(directory)
      Glibc.close(directory)
    }
  }

  func discard(_ temporary: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) }
  }

  /// Last of all: what is written in bulk before goes straight into the file, not through a log.
  private func setJournal(_ temporary: String) throws(StoreError) {
    guard creation.journal == .writeAheadLog else { return }
    do throws(SQLiteError) {
      let database = try Database(
        temporary, configuration: .init(busyTimeout: wait, isHardened: true, enforcesForeignKeys: false))
      _ = try database.textPragma("journal_mode = WAL")
      try database.close()
    } catch {
      throw StoreError(error, path: path)
    }
  }

  private func takeName(_ temporary: String) throws(StoreError) {
    if replacesExisting {
      guard rename(temporary, path) == 0 else { throw failed() }
      return
    }
    if link(temporary, path) == 0 {
      unlink(temporary)
      return
    }
    if errno == EEXIST { try checkPlace() }
    // A file system without hard links: take the name with an empty file, then put the store in its place.
    let placeholder = Glibc.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard placeholder >= 0 else {
      if errno == EEXIST { try checkPlace() }
      throw failed()
    }
    Glibc.close(placeholder)
    guard rename(temporary, path) == 0 else {
      let error = failed()
      unlink(path)
      throw error
    }
  }

  private func failed() -> StoreError {
    StoreError(.ioFailure, "\(path): \(String(cString: strerror(errno)))")
  }
}
