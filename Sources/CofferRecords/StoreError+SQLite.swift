package import CofferSQLite

extension StoreError {
  /// The hint for a file whose first bytes don't match a store's.
  package static let adviceOfNoStore: ErrorHint =
    "check the path; if the file is a damaged store, bring what can be read into a new store with \(.salvage)"

  /// Returns the error for a missing file, whose path and a colon are in `place`.
  package static func noSuchFile(_ place: String) -> StoreError {
    StoreError(.noSuchFile, "\(place)no such file", hint: "check the path, or make a new store with \(.create)")
  }

  /// Translates a SQLite error. Replaces SQLite's message for damage.
  package init(_ error: SQLiteError, path: String? = nil) {
    let place = (path ?? error.path).map { "\($0): " } ?? ""
    switch error.code {
    case .busy, .locked, .staleSnapshot:
      self.init(.locked, "\(place)the store is locked by another process or thread", hint: "try again, or wait longer")
    case .noSuchFile:
      self = .noSuchFile(place)
    case .fileExists:
      self.init(.alreadyExists, "\(place)the file exists already, and was left as it is")
    case .isDirectory:
      self.init(.notAStore, "\(place)a directory, not a store")
    case .unsafeFile:
      self.init(.unsafeFile, error.message, hint: error.hint.map { ErrorHint($0) })
    case .notADatabase:
      self.init(.notAStore, "\(place)not a store", hint: Self.adviceOfNoStore)
    case .corrupt, .invalidText:
      self.init(
        .damaged, "\(place)the store is damaged: SQLite finds its pages in disorder",
        hint: "restore it from a backup, or bring what can be read into a new store with \(.salvage)")
    case .readOnly:
      self.init(.readOnly, "\(place)the store can't be written to")
    case .full:
      self.init(
        .diskFull, "\(place)the disk is full; nothing of this transaction was stored",
        hint: "make room and try again")
    case .tooBig:
      self.init(.tooLarge, "\(place)a value is longer than the store takes")
    case .noMemory:
      self.init(.systemFailure, "\(place)no memory left")
    case .interrupted:
      self.init(.cancelled, "\(place)interrupted; nothing of this transaction was stored")
    case .constraint:
      self.init(
        .damaged, "\(place)the store is damaged: its state is older than its rows",
        hint: "\(.verify) lists all damage; restore it from a backup")
    case .cantOpen:
      self.init(.ioFailure, "\(place)the store can't be opened: \(error.message)")
    case .ioError where error.isFailedSync:
      self.init(
        .ioFailure, "\(place)the disk did not confirm what was written: this transaction may be stored, or not at all",
        hint: "check the disk, then open the store again")
    case .ioError:
      self.init(.ioFailure, "\(place)reading or writing the store failed: \(error.message)")
    case .unusableLibrary:
      self.init(.systemFailure, error.message, hint: error.hint.map { ErrorHint($0) })
    case .rolledBack:
      self.init(.ioFailure, "\(place)the transaction was rolled back after an earlier error")
    case .misuse where error.extendedCode == 0:
      self.init(.misuse, "\(place)\(error.message)")
    case .misuse:
      self.init(.systemFailure, "\(place)SQLite was called where it does not belong: \(error.message)")
    case .notDecodable:
      self.init(.notDecodable, "\(place)\(error.message)", hint: error.hint.map { ErrorHint($0) })
    case .schema, .sqlLogic, .notAllowed, .other:
      self.init(.damaged, "\(place)the store's tables are not as they must be: \(error.message)")
    }
  }
}
