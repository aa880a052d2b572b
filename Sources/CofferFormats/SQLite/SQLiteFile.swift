internal import CofferPlatform
internal import CofferSQLite

/// An untrusted database. Opening and reading it doesn't change its file, and doesn't create or change files in its
/// directory.
///
/// Triggers, views and virtual tables never run, and the schema isn't trusted. If SQLite must write before it can read
/// the database correctly, it writes to a private copy.
final class SQLiteFile {
  let database: Database
  /// The reason for reading a private copy, or `nil` if the original is read.
  private(set) var copyReason: String?
  /// The size of the database and its log in bytes. A table without row IDs can't have more rows.
  let byteCount: Int
  private let copy: PrivateCopy?
  /// The file's state when it was opened, if it's read without locks.
  private let unlocked: FileSetState?

  /// Opens a database, and begins a single transaction for all reads.
  ///
  /// - Throws: `malformed` if the file isn't a database or is damaged, or if its journal or log is unsafe.
  ///   `unsupportedFormat` for a store. `locked` if another program is writing to it. `unreadable`, or `unwritable` if
  ///   the private copy can't be written.
  init(path: String, options: ReadingOptions) throws(FormatError) {
    let path = Self.resolved(path)
    let beside = try FileSetState(path)
    try beside.requireForeignDatabase()
    guard !beside.hasLog || !beside.keepsRollbackJournal else {
      throw FormatError(
        .malformed, "\(path)-wal is a write-ahead log, but the database has a rollback journal (move it elsewhere)")
    }
    if beside.usesLog {
      if beside.hasLog {
        copyReason = "its write-ahead log holds changes"
        (database, copy) = try Self.openCopy(of: path, options)
        unlocked = nil
        byteCount = beside.byteCount
      } else {
        // A process that opens such a database keeps a log next to it, so without a log, the database isn't open
        // anywhere.
        database = try Self.open(path, .immutable)
        copy = nil
        unlocked = beside
        try Self.begin(database, options)
        try database.requireWhole()
        byteCount = beside.byteCount
      }
      return
    }
    byteCount = beside.byteCount
    unlocked = nil
    let direct = try Self.open(path, .readOnly)
    do throws(SQLiteError) {
      try direct.beginReading(options)
    } catch {
      try? direct.close()
      // If a writer was killed during a transaction, SQLite must roll it back first, which requires writing. If its
      // journal names a super-journal, the code is `unsafeFile`. The copied journal doesn't contain that name.
      guard error.code == .readOnly || error.code == .cantOpen || error.code == .unsafeFile, beside.hasJournal else {
        throw FormatError(error)
      }
      copyReason = "a transaction was left unfinished beside it"
      (database, copy) = try Self.openCopy(of: path, options)
      return
    }
    try direct.requireWhole()
    database = direct
    copy = nil
  }

  /// Opens a database from a stream through a private copy, because SQLite needs a file.
  init(copying source: some ByteSource, options: ReadingOptions) throws(FormatError) {
    copyReason = "it is no file"
    unlocked = nil
    let copy = try PrivateCopy(options) { (files) throws(FormatError) in
      try files.write("", from: source)
    }
    let beside = try FileSetState(copy.path)
    try beside.requireForeignDatabase()
    byteCount = beside.byteCount
    database = try Self.open(copy.path, .immutable)
    try Self.begin(database, options)
    try database.requireWhole()
    copy.removeNames()
    self.copy = copy
  }

  /// Verifies that a file without locks hasn't changed since it was opened. Call this method after reading all data.
  func requireUnchanged() throws(FormatError) {
    guard let unlocked else { return }
    guard try FileSetState(unlocked.path) == unlocked else { throw Self.changing }
  }

  private static var changing: FormatError {
    FormatError(.locked, "the database is written by another program: try again, or make a copy of it")
  }

  /// Returns the path with symbolic links resolved, because SQLite does the same before it looks for a journal.
  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  private static func open(_ path: String, _ mode: Database.Mode) throws(FormatError) -> Database {
    var configuration = Database.Configuration(isHardened: true, enforcesForeignKeys: false)
    configuration.rule = StatementRule(
      functions: ["count"],
      pragmas: ["encoding", "journal_mode", "page_count", "page_size", "table_xinfo"])
    do throws(SQLiteError) {
      return try Database(path, mode: mode, configuration: configuration)
    } catch {
      throw FormatError(error)
    }
  }

  private static func begin(_ database: Database, _ options: ReadingOptions) throws(FormatError) {
    do throws(SQLiteError) {
      try database.beginReading(options)
    } catch {
      throw FormatError(error)
    }
  }

  /// Copies the file with its journal or log, lets SQLite recover the copy, and removes the copy's names.
  private static func openCopy(
    of path: String, _ options: ReadingOptions
  ) throws(FormatError) -> (Database, PrivateCopy) {
    // Retry a few times, because another program can write to the file during the copy.
    for _ in 0..<4 {
      let before = try FileSetState(path)
      let copy = try PrivateCopy(options) { (files) throws(FormatError) in
        try files.write("", from: try FileByteSource(path: path))
        if before.usesLog, before.hasLog {
          try files.write("-wal", from: try FileByteSource(path: path + "-wal"))
        } else if !before.usesLog, before.hasJournal {
          let journal = try FileDescriptor(opening: path + "-journal")
          let count = try RollbackJournal.usableByteCount(of: journal, byteCount: Int(try journal.status().st_size))
          if count > 0 { try files.write("-journal", from: FileByteSource(journal), limit: count) }
        }
      }
      guard try FileSetState(path) == before else { continue }
      let database = try open(copy.path, .readWrite)
      do throws(SQLiteError) {
        try database.set(.noCheckpointOnClose, to: true)
        try database.beginReading(options)
      } catch {
        throw FormatError(error)
      }
      if !before.usesLog { try database.requireWhole() }
      copy.removeNames()
      return (database, copy)
    }
    throw changing
  }
}

extension Database {
  /// Begins a read transaction, and reads the schema to detect most damage early.
  fileprivate func beginReading(_ options: ReadingOptions) throws(SQLiteError) {
    try begin(.deferred)
    if let shouldStop = options.shouldStop { try setStopCondition(shouldStop) }
    try readSchema(within: .foreign)
  }
}

extension Database {
  /// Throws an error if the file is shorter than its pages, because SQLite would read zeros for the missing bytes.
  fileprivate func requireWhole() throws(FormatError) {
    do throws(SQLiteError) {
      let pageSize = try integerPragma("page_size") ?? 0
      let pageCount = try integerPragma("page_count") ?? 0
      guard try fileSize() >= pageCount * pageSize else {
        throw SQLiteError(.corrupt, "the file is shorter than it says")
      }
    } catch {
      throw FormatError(error)
    }
  }
}

/// The state of a database's file, journal and log, as far as it affects opening.
private struct FileSetState: Equatable {
  private struct File: Equatable {
    var number: UInt64
    var size: Int
    var seconds: Int
    var nanoseconds: Int
  }

  private static let headerSize = 100

  let path: String
  /// The database's first bytes.
  private let header: [UInt8]
  private let files: [File?]

  init(_ path: String) throws(FormatError) {
    self.path = path
    do throws(SQLiteError) {
      try Database.checkFiles(beside: path)
    } catch {
      throw FormatError(error)
    }
    files = [try Self.file(path), try Self.file(path + "-journal"), try Self.file(path + "-wal")]
    var source = try FileByteSource(path: path)
    var header = [UInt8](repeating: 0, count: Self.headerSize)
    var count = 0
    while count < header.count {
      let got = try source.read(into: &header, from: count)
      if got == 0 { break }
      count += got
    }
    self.header = Array(header[..<count])
  }

  /// Requires the file to be a database that isn't a store, because a store's texts are sealed.
  func requireForeignDatabase() throws(FormatError) {
    guard isDatabase else { throw FormatError(.malformed, "not a SQLite database") }
    guard !header[68..<72].elementsEqual("COFR".utf8) else {
      throw FormatError(
        .unsupportedFormat, "this is a store, whose documents are sealed: export them, and import what that writes")
    }
  }

  private var isDatabase: Bool { header.count == Self.headerSize && header.starts(with: "SQLite format 3\0".utf8) }
  /// Whether the database uses a write-ahead log. The read version (byte 19) is then 2.
  var usesLog: Bool { header[19] == 2 }
  /// Whether the database has a rollback journal. The write version (byte 18) or the read version is then 1.
  var keepsRollbackJournal: Bool { header[18] == 1 || header[19] == 1 }
  /// The size of the database and its log in bytes.
  var byteCount: Int { (files[0]?.size ?? 0) + (usesLog ? files[2]?.size ?? 0 : 0) }
  var hasJournal: Bool { (files[1]?.size ?? 0) > 0 }
  var hasLog: Bool { (files[2]?.size ?? 0) > 0 }

  /// Returns the file's state, or `nil` if the file doesn't exist.
  private static func file(_ path: String) throws(FormatError) -> File? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw .system(.unreadable, "cannot look at the file", path: path)
    }
    // SQLite would wait indefinitely if the name belonged to a pipe.
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw FormatError(.unreadable, "a database must be a file", path: path)
    }
    return File(
      number: status.number, size: Int(status.st_size), seconds: status.modified.tv_sec,
      nanoseconds: status.modified.tv_nsec)
  }
}

extension FormatError {
  /// Creates an error from a SQLite error.
  init(_ error: SQLiteError) {
    let code: Code =
      switch error.code {
      case .busy, .locked, .staleSnapshot: .locked
      case .noSuchFile, .cantOpen, .isDirectory, .ioError, .noMemory, .interrupted: .unreadable
      case .tooBig: .tooLarge
      case .full: .unwritable
      default: .malformed
      }
    self.init(code, "SQLite: \(error.message)\(error.hint.map { " (\($0))" } ?? "")")
    systemError = error.code == .full ? ENOSPC : nil
  }
}
