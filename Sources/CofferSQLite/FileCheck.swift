internal import CCofferSQLite
internal import CofferPlatform

/// Checks a database, journal or log before SQLite opens it.
///
/// A file next to a database must be regular, have one name, and belong to the database's owner, root or this process's
/// user, unless other users can write to the database itself. `-shm` isn't opened with xOpen, so it's checked when the
/// log is opened.
enum FileCheck {
  enum Failure: Error {
    case unsafe(UnsafeFile)
    /// The file couldn't be examined. The value is SQLite's result code.
    case unknown(Int32)
  }

  /// The first eight bytes of a journal, and the last eight bytes of a journal that names a super-journal.
  private static let journalMagic: UInt64 = 0xD9D5_05F9_20A1_63D7
  /// The offset of the write version in SQLite's file header, which is 1 for a database with a rollback journal.
  private static let writeVersionOffset: Int64 = 18

  /// Checks a file that SQLite is about to open. Call this method in xOpen, with its arguments.
  static func check(_ name: UnsafePointer<CChar>?, _ flags: Int32) throws(Failure) {
    guard let name else { return }
    if flags & SQLITE_OPEN_MAIN_DB != 0 {
      // If the file can't be examined, it can't be opened either, and the system reports the reason.
      if let status = try? status(of: name) { try requireRegular(status, name) }
    } else if flags & SQLITE_OPEN_MAIN_JOURNAL != 0 {
      let size = try size(of: name, beside: sqlite3_filename_database(name))
      if size >= 16, try namesSuperJournal(name) { throw .unsafe(UnsafeFile(name, .namesSuperJournal)) }
    } else if flags & SQLITE_OPEN_WAL != 0 {
      let database = sqlite3_filename_database(name)
      let size = try size(of: name, beside: database)
      if size > 0, try keepsRollbackJournal(name) { throw .unsafe(UnsafeFile(name, .logOfAnother)) }
      if let database { try checkFile("-shm", beside: database) }
    } else if flags & SQLITE_OPEN_SUPER_JOURNAL != 0 {
      throw .unsafe(UnsafeFile(name, .superJournal))
    }
  }

  /// Checks the file with the database's name and a suffix.
  static func checkFile(_ suffix: StaticString, beside database: UnsafePointer<CChar>) throws(Failure) {
    let count = strlen(database)
    let result = withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + suffix.utf8CodeUnitCount + 1) { name in
      let start = name.baseAddress!
      memcpy(start, database, count)
      memcpy(start + count, suffix.utf8Start, suffix.utf8CodeUnitCount)
      name[count + suffix.utf8CodeUnitCount] = 0
      return Result { () throws(Failure) in _ = try size(of: start, beside: database) }
    }
    try result.get()
  }

  // MARK: Parts

  /// Returns the file's status without following a symbolic link, or `nil` if it doesn't exist.
  private static func status(of name: UnsafePointer<CChar>) throws(Failure) -> stat? {
    var status = stat()
    if lstat(name, &status) == 0 { return status }
    guard errno == ENOENT || errno == ENOTDIR else { throw .unknown(SQLITE_IOERR | (7 << 8)) }  // SQLITE_IOERR_FSTAT
    return nil
  }

  private static func requireRegular(_ status: stat, _ name: UnsafePointer<CChar>) throws(Failure) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: return
    case S_IFLNK: throw .unsafe(UnsafeFile(name, .symbolicLink))
    case S_IFDIR: throw .unsafe(UnsafeFile(name, .directory))
    default: throw .unsafe(UnsafeFile(name, .special))
    }
  }

  /// Returns the size of a file next to a database, or 0 if it doesn't exist.
  private static func size(
    of name: UnsafePointer<CChar>, beside database: UnsafePointer<CChar>?
  ) throws(Failure) -> Int64 {
    guard let file = try status(of: name) else { return 0 }
    try requireRegular(file, name)
    guard file.st_nlink <= 1 else { throw .unsafe(UnsafeFile(name, .secondName)) }
    if file.st_uid != 0 && file.st_uid != geteuid() {
      let database = try database.flatMap { name throws(Failure) in try status(of: name) }
      guard let database, ownerMayWrite(database, of: file) else { throw .unsafe(UnsafeFile(name, .foreignOwner)) }
    }
    return Int64(file.st_size)
  }

  /// Returns whether a file's owner can also write to the database.
  private static func ownerMayWrite(_ database: stat, of file: stat) -> Bool {
    file.st_uid == database.st_uid || database.st_mode & S_IWOTH != 0
      || database.st_mode & S_IWGRP != 0 && file.st_gid == database.st_gid
  }

  /// Returns whether a journal's end names a super-journal. SQLite doesn't lock journals, so closing one doesn't
  /// release locks.
  private static func namesSuperJournal(_ name: UnsafePointer<CChar>) throws(Failure) -> Bool {
    let file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      // The writer has just removed the journal, or SQLite can't read it either.
      if errno == ENOENT || errno == EACCES { return false }
      throw .unknown(SQLITE_IOERR | (1 << 8))  // SQLITE_IOERR_READ
    }
    defer { close(file) }
    var status = stat()
    var end: UInt64 = 0
    guard fstat(file, &status) == 0, status.st_size >= 8 else { return false }
    let count = pread(file, &end, 8, status.st_size - 8)
    guard count >= 0 else { throw .unknown(SQLITE_IOERR | (1 << 8)) }
    return count == 8 && end == journalMagic.bigEndian
  }

  /// Reads through SQLite's own file, because closing another descriptor would release this process's locks.
  private static func keepsRollbackJournal(_ log: UnsafePointer<CChar>) throws(Failure) -> Bool {
    let database = sqlite3_database_file_object(log)
    var version: UInt8 = 0
    guard let read = database?.pointee.pMethods?.pointee.xRead else { throw .unknown(SQLITE_IOERR | (1 << 8)) }
    let result = read(database, &version, 1, writeVersionOffset)
    guard result == SQLITE_OK else { throw .unknown(result) }
    return version == 1
  }
}

extension FileCheck.Failure {
  /// Returns SQLite's result code, and keeps the refused file for the following error.
  func report() -> Int32 {
    switch self {
    case .unknown(let result): return result
    case .unsafe(let file):
      file.keep()
      return CheckingVFS.refusal
    }
  }
}

extension Database {
  /// Checks a database's journal and log like a hardened connection before it opens them, but doesn't read them.
  ///
  /// - Throws: `unsafeFile`.
  package static func checkFiles(beside path: String) throws(SQLiteError) {
    do throws(FileCheck.Failure) {
      try FileCheck.checkFile("-journal", beside: path)
      try FileCheck.checkFile("-wal", beside: path)
    } catch {
      throw SQLiteError(error)
    }
  }
}

extension SQLiteError {
  fileprivate init(_ failure: FileCheck.Failure) {
    switch failure {
    case .unsafe(let file): self.init(file)
    case .unknown(let result): self.init(Code(result: result), Self.plainMessage(result), extendedCode: result)
    }
  }
}
