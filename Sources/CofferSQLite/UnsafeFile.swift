internal import CofferPlatform
internal import Synchronization

/// A file that SQLite must not open, with the reason.
struct UnsafeFile: Sendable {
  enum Problem: Sendable {
    case symbolicLink, directory, special
    case secondName
    case foreignOwner
    /// A journal that names a file at its end, which SQLite would delete.
    case namesSuperJournal
    /// A log next to a database that uses a rollback journal.
    case logOfAnother
    /// The super-journal of a transaction across several databases.
    case superJournal
  }

  let path: String
  let problem: Problem

  init(_ path: UnsafePointer<CChar>, _ problem: Problem) {
    self.path = String(cString: path)
    self.problem = problem
  }

  var message: String {
    switch problem {
    case .symbolicLink: "\(path) is a symbolic link, not a regular file: SQLite would change the file that it leads to"
    case .directory: "\(path) is a directory, not a regular file"
    case .special: "\(path) is a pipe, socket or device, not a regular file: SQLite could wait for ever"
    case .secondName: "\(path) has a second name (a hard link): SQLite would change that file, too"
    case .foreignOwner: "\(path) belongs to a user who may not write the database"
    case .namesSuperJournal: "\(path) names a second file (a super-journal), which SQLite would delete"
    case .logOfAnother: "\(path) is a write-ahead log, but the database has a rollback journal"
    case .superJournal: "a hardened connection makes no transaction over several databases"
    }
  }

  var hint: String {
    switch problem {
    case .symbolicLink, .directory, .special, .logOfAnother:
      "nothing was changed; move it elsewhere, then the database opens again"
    case .secondName:
      "nothing was changed; if the database's own writer left it, put a copy in its place, otherwise move it elsewhere"
    case .foreignOwner:
      "nothing was changed; if you trust it, change its owner, otherwise move it elsewhere"
    case .namesSuperJournal:
      "nothing was changed; if a program left it that changes several databases in one transaction, let that program "
        + "open them first, otherwise move it elsewhere"
    case .superJournal: "change one database in a transaction"
    }
  }

  // MARK: From xOpen to the error

  /// Each thread's refused file. xOpen returns only a number, but SQLite's call fails with it on the same thread.
  private static let kept = Mutex<[UInt: UnsafeFile]>([:])

  func keep() {
    Self.kept.withLock { $0[Self.thread] = self }
  }

  /// Returns and removes the file of this thread's last refusal.
  static func take() -> UnsafeFile? {
    kept.withLock { $0.removeValue(forKey: thread) }
  }

  private static var thread: UInt { coffer_thread() }
}

extension SQLiteError {
  init(_ file: UnsafeFile, sql: String? = nil) {
    self.init(
      .unsafeFile, file.message, hint: file.hint, extendedCode: CheckingVFS.refusal, sql: sql)
  }
}
