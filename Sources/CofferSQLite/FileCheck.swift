internal import CCofferSQLite
internal import CofferPlatform

/// Checks the files that SQLite opens as a database, its journal and its log.
///
/// A file beside a database must be regular, have one name, and belong to the database's owner, to root or to this
/// process's user, unless the database itself may be written by others. `-shm` never passes xOpen, so it is looked at
/// when the log is opened.
enum FileCheck {
  enum Failure: Error {
    case unsafe(UnsafeFile)
    /// A result code of SQLite: the file could not be looked at.
    case unknown(Int32)
  }

  /// The first eight bytes of a journal, and the last eight of one that names a super-journal.
  private static let journalMagic: UInt64 = 0xD9D5_05F9_20A1_63D7
  /// The offset of the write version in SQLite's file header; 1 is a database with a rollback journal.
  private static let writeVersionOffset: Int64 = 18

  /// Checks a file that SQLite is about to open; call in xOpen, whose arguments these are.
  static func check(_ name: UnsafePointer<CChar>?, _ flags: Int32) throws(Failure) {
    guard let name else { return }
    if flags & SQLITE_OPEN_MAIN_DB != 0 {
      // If it can't be looked at, it can't be opened either, and the system says why.
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

  /// Checks a file whose name is the database's and a suffix.
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

  /// The status of what has that name, itself and not what a symbolic link leads to; nil if there is nothing.
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

  /// The size of a file beside a database; 0 if there is none.
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

  /// Whether the owner of a file may write the database, too.
  private static func ownerMayWrite(_ database: stat, of file: stat) -> Bool {
    file.st_uid == database.st_uid || database.st_mode & S_IWOTH != 0
      || database.st_mode & S_IWGRP != 0 && file.st_gid == database.st_gid
  }

  /// Reads the end of a journal. SQLite holds no locks on journals, so that closing one drops none.
  private static func namesSuperJournal(_ name: UnsafePointer<CChar>) throws(Failure) -> Bool {
    let file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      // Its writer has just removed it, or SQLite may not read it either.
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

  /// Reads through SQLite's own file: closing another descriptor would drop this process's locks.
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
  /// The result code for SQLite; keeps the refused file for the error that follows.
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
  /// Looks at journal and log beside a database as a hardened connection does before it opens them, but not inside.
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
