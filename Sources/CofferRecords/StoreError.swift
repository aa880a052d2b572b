public import CofferDocuments
public import CofferSQLite
public import CofferSealing

/// An error from a store. Errors are equal if their codes are equal.
///
/// Messages name documents by ID and fields by name, but never contain text, titles, keys or values.
public struct StoreError: Error, Sendable {
  /// The kind of error, which determines how the caller can respond. The raw value is its name.
  public enum Code: String, Sendable, CaseIterable {
    /// The file doesn't exist.
    case noSuchFile
    /// The file isn't a store.
    case notAStore
    /// Another process or thread holds the lock for longer than the store's waiting time.
    case locked
    /// The key doesn't open any slot.
    case cannotUnlock
    /// A required secret is missing.
    case keyNeeded
    /// The store doesn't have a document with that ID.
    case noSuchDocument
    /// The store doesn't have a collection with that name or number.
    case noSuchCollection
    /// The store doesn't have an attachment with that number, or the document doesn't have an attachment with that
    /// name.
    case noSuchAttachment
    /// The collection doesn't have a document at that index.
    case indexOutOfRange
    /// A document's text isn't JSON of the requested type.
    case notDecodable
    /// A migration's code threw an error that isn't a store error. The store is unchanged.
    case migrationFailed
    /// JSON can't represent this value.
    case notEncodable
    /// The store was created by a later format version, or changed by a newer app version (``OpenOptions/migrations``).
    case otherFormat
    /// The caller didn't allow test keys or TEST stores, or used a real key for a TEST store.
    case testKeyRefused
    /// A document or the store itself was changed or damaged.
    case damaged
    /// A journal, log or `-shm` file next to the store wasn't left by its writers, and could harm the store or other
    /// files. The store wasn't opened, and files are unchanged.
    case unsafeFile
    /// The store is older than a state seen by this session or recorded in the anchor.
    case rolledBack
    /// The rows don't match the written rows, because some are missing, older or foreign.
    case setMismatch
    /// The anchor belongs to another store or another state.
    case anchorMismatch
    /// The store isn't a release of the expected publisher, or its rows don't match the release.
    case notAsReleased
    /// A replication program hasn't confirmed that its replica contains the commits.
    case notConfirmed
    /// The collection doesn't have this kind of index.
    case noIndex
    /// An index lacks more changes than the memory limit allows, and can't be written.
    case indexBehind
    /// Documents remain under old keys.
    case rekeyUnfinished
    /// There's no unfinished rekey to resume.
    case noUnfinishedRekey
    /// Another process changed the root key, and the current key can't be used or isn't allowed to be. Pass the new key
    /// to `unlock(with:)`.
    case keyChanged
    /// The pin belongs to another store.
    case pinMismatch
    /// The pin is the store's pin after its unfinished rekey.
    case pinUnfinished
    /// A file, document or collection with that name or number already exists.
    case alreadyExists
    /// A document has the highest possible ID, so new documents can't get an ID.
    case noNumberLeft
    /// Another document in the collection has that key.
    case duplicateKey
    /// A synchronization would remove more documents than the caller allowed.
    case removalRefused
    /// The store or its file can't be written.
    case readOnly
    /// The disk is full. The transaction's changes weren't stored.
    case diskFull
    /// An argument is invalid. The message explains which argument and why.
    case invalidArgument
    /// A query failed because of data in the documents, or the closure of an observation threw an error that isn't a
    /// store error.
    case queryFailed
    /// A text, title, key or name exceeds its limit.
    case tooLarge
    /// The caller doesn't allow empty texts (``Document/EmptyText/fail``).
    case emptyText
    /// A key file, identity, recipient or passphrase is invalid.
    case keyFileInvalid
    /// Slot parameters exceed the limits that protect against hostile files.
    case parametersRefused
    /// Text isn't valid UTF-8.
    case notText
    /// A call isn't allowed here, such as `write` inside `write`, or using a scope after its end.
    case misuse
    /// The store was closed.
    case closed
    /// The store is suspended, or was suspended during the transaction, which is rolled back.
    case suspended
    /// The task was canceled, a progress handler threw an error, or a time limit was exceeded.
    case cancelled
    /// The disk or file system failed. If it didn't confirm a write, all later writes throw this error until the store
    /// is reopened.
    case ioFailure
    /// Memory, randomness or OpenSSL failed.
    case systemFailure
  }

  /// The kind of error, which determines whether two errors are equal.
  public let code: Code
  /// A description of the error, including where it occurred.
  public let message: String
  /// The next step for the user, or `nil` if it's unknown. ``hint`` is its text with the library's calls.
  public let advice: ErrorHint?
  /// The document with the error, or `nil` if the error doesn't concern a single document or its ID is unknown.
  public let documentID: DocumentID?

  /// Creates an error for code that adds calls to a store. The message must not contain text, titles or keys.
  public init(_ code: Code, _ message: String, hint: ErrorHint? = nil, documentID: DocumentID? = nil) {
    self.code = code
    self.message = message
    advice = hint
    self.documentID = documentID
  }

  /// The next step for the user, with the library's calls, or `nil` if it's unknown.
  public var hint: String? { advice?.description }
}

extension StoreError: Equatable {
  public static func == (lhs: StoreError, rhs: StoreError) -> Bool {
    lhs.code == rhs.code
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    hint.map { "\(message) (\($0))" } ?? message
  }
}

// MARK: - From the modules below

extension StoreError {
  /// Translates an error from a key or seal, if the row isn't known.
  package init(_ error: SealingError) {
    switch error.code {
    case .notAuthentic, .malformed: self = .damagedStore(error.message)
    case .invalidKeyLine:
      self.init(.keyFileInvalid, error.message, hint: "take the file that \(.makeKey) made, or a copy of it")
    case .invalidPassphrase: self.init(.keyFileInvalid, error.message)
    case .misplacedSecret:
      self.init(
        .keyFileInvalid, error.message,
        hint: "give a key as a key file, a recipient as a recipient, and a passphrase as UTF-8 without a mark")
    case .parametersRefused:
      self.init(
        .parametersRefused, error.message, hint: "no writer makes such a slot: restore the store from a backup")
    case .fileFailure:
      self.init(.keyFileInvalid, error.message, hint: "check the path and its permissions")
    case .systemFailure: self.init(.systemFailure, error.message)
    }
  }

  /// Returns the error for a seal that can't be opened, which is `damage` unless this machine failed.
  package static func unopened(_ error: SealingError, _ damage: @autoclosure () -> StoreError) -> StoreError {
    error.code == .systemFailure ? StoreError(error) : damage()
  }

  /// Whether the error concerns only this machine or this moment, but not the file.
  package var isTransient: Bool {
    switch code {
    case .systemFailure, .locked, .cancelled, .keyChanged, .closed, .suspended: true
    default: false
    }
  }

  package static var slotCountRefused: StoreError {
    StoreError(
      .parametersRefused, "the number of slots is not in 1…\(KeySlotRecord.maximumSlots)",
      hint: "another program changed this file: restore it from a backup")
  }

  package static func damagedDocument(_ id: Int64, _ what: String) -> StoreError {
    StoreError(
      .damaged, "document \(id) is damaged: \(what)",
      hint: "\(.verify) lists all damage; restore the store from a backup", documentID: DocumentID(id))
  }

  package static func newerDocument(_ id: Int64) -> StoreError {
    StoreError(
      .otherFormat, "document \(id) was written by a later version of this program, which this one can't read",
      hint: "update this program", documentID: DocumentID(id))
  }

  package static var newerStore: StoreError {
    StoreError(
      .otherFormat, "the store was written by a later version of this program, which this one can't read",
      hint: "update this program")
  }

  package static func damagedStore(_ what: String) -> StoreError {
    StoreError(
      .damaged, "the store is damaged: \(what)",
      hint: "restore it from a backup, or bring what can be read into a new store with \(.salvage)")
  }

  package static var endlessRows: StoreError {
    .damagedStore("its pages lead to the same rows again and again")
  }

  package static func keyTaken(by other: DocumentID, place: String = "") -> StoreError {
    StoreError(
      .duplicateKey, "\(place)document \(other) has that key already",
      hint: "update document \(other) instead, or delete it first", documentID: other)
  }

  package static func noUnfinishedRekey(_ path: String) -> StoreError {
    StoreError(.noUnfinishedRekey, "\(path) has no unfinished rekey", hint: "every document is under the current key")
  }

  package static var setMismatch: StoreError {
    StoreError(
      .setMismatch, "the documents are not the set that was written: some are missing, older or changed",
      hint: "restore the store from a backup, or bring what can be read into a new store with \(.salvage)")
  }

  package static func writtenWhileListed(_ id: Int64) -> StoreError {
    StoreError(
      .misuse, "document \(id) was added or moved by the list that it is in",
      hint: "end the list before its documents are added or moved", documentID: DocumentID(id))
  }

  package static var storeClosed: StoreError { StoreError(.closed, "the store was closed") }

  package static var storeSuspended: StoreError {
    StoreError(.suspended, "the store is suspended", hint: "call \(.resume), and try again")
  }

  /// Returns an error for attributes that JSON can't represent.
  package static func refusedAttributes(_ fault: JSONError) -> StoreError {
    StoreError(.invalidArgument, "the attributes can't be stored: \(fault.reason)")
  }

  /// Returns the error for a date that a store doesn't take.
  package static var refusedDate: StoreError {
    StoreError(.invalidArgument, "a date is outside the years 0000 to 9999")
  }

  package static func noSuchDocument(_ id: DocumentID) -> StoreError {
    StoreError(.noSuchDocument, "there is no document \(id)", documentID: id)
  }
}

/// A lower module's error that has an equivalent store error.
@usableFromInline
package protocol StoreErrorConvertible: Error {
  var storeError: StoreError { get }
}

extension SealingError: StoreErrorConvertible {
  @usableFromInline package var storeError: StoreError { StoreError(self) }
}

extension SQLiteError: StoreErrorConvertible {
  @usableFromInline package var storeError: StoreError { StoreError(self) }
}

/// Runs a lower module's work, and throws its errors as store errors.
///
/// It's inlinable because other modules call it for each row, and the compiler specializes only inlined calls.
@inlinable
package func translatingErrors<R: ~Copyable, E: StoreErrorConvertible>(_ work: () throws(E) -> R) throws(StoreError)
  -> R
{
  do throws(E) {
    return try work()
  } catch {
    throw error.storeError
  }
}

/// Runs work that throws only store errors, although the type of its closures allows all errors.
package func expectingStoreErrors<R>(_ work: () throws -> R) throws(StoreError) -> R {
  do {
    return try work()
  } catch let error as StoreError {
    throw error
  } catch {
    preconditionFailure("internal error: work on the store threw \(type(of: error))")
  }
}

/// Runs CofferSQLite's work on a file, and throws its errors as store errors that begin with the file's path.
package func translatingErrors<R>(at path: String, _ work: () throws(SQLiteError) -> R) throws(StoreError) -> R {
  do throws(SQLiteError) {
    return try work()
  } catch {
    throw StoreError(error, path: path)
  }
}
