import CofferDocuments
import CofferSQLite
import Foundation

@testable import CofferFormats

extension TemporaryDirectory {
  /// Creates a database by running SQL and returns its path.
  @discardableResult
  func database(_ sql: String..., name: String = "source.db") throws -> String {
    let database = try Database("\(path)/\(name)", mode: .createNew)
    for sql in sql { try database.execute(sql) }
    try database.close()
    return "\(path)/\(name)"
  }

  /// Returns the contents of all files by name.
  func everything() throws -> [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: try names().map { ($0, try bytes(of: $0)) })
  }

  /// Creates a database whose writer was killed while changing every text to `CHANGED`.
  ///
  /// The changed pages are already on disk, next to the journal that undoes them.
  func killedWriter(name: String = "hot.db") throws -> String {
    let database = try Database("\(path)/live.db", mode: .createNew)
    try database.execute("PRAGMA page_size = 512; CREATE TABLE records(id INTEGER PRIMARY KEY, title, txt)")
    for id in 1...200 {
      try database.execute("INSERT INTO records VALUES(?, ?, ?)", id, "t\(id)", String(repeating: "x", count: 300))
    }
    try database.execute("PRAGMA cache_size = 2; PRAGMA cache_spill = 1")
    try database.execute("BEGIN; UPDATE records SET txt = 'CHANGED'")
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: "\(path)/live.db\(suffix)", toPath: "\(path)/\(name)\(suffix)")
    }
    try database.execute("ROLLBACK")
    try database.close()
    try FileManager.default.removeItem(atPath: "\(path)/live.db")
    return "\(path)/\(name)"
  }

  /// Creates a database whose rows are all in its write-ahead log.
  func unfinishedLog(name: String = "log.db") throws -> String {
    let database = try Database("\(path)/live.db", mode: .createNew)
    try database.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try database.execute("CREATE TABLE records(id INTEGER PRIMARY KEY, title, txt)")
    try database.execute("INSERT INTO records VALUES(1, 'a', 'in the log')")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: "\(path)/live.db\(suffix)", toPath: "\(path)/\(name)\(suffix)")
    }
    try database.close()
    try FileManager.default.removeItem(atPath: "\(path)/live.db")
    return "\(path)/\(name)"
  }
}

func mapping(_ text: String) -> ColumnMapping {
  ColumnMapping(parsing: text)!
}
