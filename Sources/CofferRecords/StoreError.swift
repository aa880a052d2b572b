public import CofferDocuments
internal import CofferSQLite
package import CofferSealing

/// A store error. Equality looks at the code: what the caller can do.
///
/// Messages name documents by id and fields by name; they never hold text, titles, keys or values.
public struct StoreError: Error, Sendable {
  /// The kind of error, by what the caller can do about it. The raw value is its name.
  public enum Code: String, Sendable, CaseIterable {
    /// No file exists at that path.
    case noSuchFile
    /// The file is not a store.
    case notAStore
    /// Another process or thread holds the lock longer than the store's waiting time.
    case locked
    /// No slot opens with this key.
    case cannotUnlock
    /// A secret is needed, but none was given.
    case keyNeeded
    /// The store has no document of that id.
    case noSuchDocument
    /// The store has no collection of that name or number.
    case noSuchCollection
    /// The collection has no document at that index.
    case indexOutOfRange
    /// A document's text is not the JSON of a value of the requested type.
    case notDecodable
    /// JSON can't represent this value.
    case notEncodable
    /// Made by a later version of the format.
    case otherFormat
    /// A test key or a TEST store that the caller did not allow, or a real key for a TEST store.
    case testKeyRefused
    /// A document, or the store itself, is not as it was written.
    case damaged
    /// A journal, log or `-shm` beside the store that no writer of it leaves there, and that could harm the store or
    /// other files: nothing was opened or changed.
    case unsafeFile
    /// Older than a state that this session or the anchor has seen.
    case rolledBack
    /// The rows are not the set that was written: some are missing, older or foreign.
    case setMismatch
    /// The store is not the one that the anchor names, or not in that state.
    case anchorMismatch
    /// A replication program has not confirmed that its replica holds the commits.
    case notConfirmed
    /// The collection has no index of that kind.
    case noIndex
    /// An index is behind by more than memory may hold, and can't be written.
    case indexBehind
    /// Documents remain under old keys.
    case rekeyUnfinished
    /// Another process changed the root key, and the current key may not or can not follow: `unlock(with:)` the new
    /// one.
    case keyChanged
    /// The pin names another store.
    case pinMismatch
    /// The pin is the one that the store will have when its unfinished rekey has ended.
    case pinUnfinished
    /// A file, document or collection of that name or number exists already.
    case alreadyExists
    /// A document has the highest possible id, so no id is left for a new document.
    case noNumberLeft
    /// Another document of the collection has that key.
    case duplicateKey
    /// A synchronisation would remove more documents than the caller allowed.
    case removalRefused
    /// The store, or its file, can't be written to.
    case readOnly
    /// The disk is full; nothing of the transaction was stored.
    case diskFull
    /// An argument that the call can't take; the message says which, and why.
    case invalidArgument
    /// A query failed on the data that it found in the documents.
    case queryFailed
    /// A text, title, key or name over its limit.
    case tooLarge
    /// An empty text that the caller asked to refuse (``EmptyTextMode/fail``).
    case emptyText
    /// An invalid key file, identity, recipient or passphrase.
    case keyFileInvalid
    /// Slot parameters outside the bounds that protect against a hostile file.
    case parametersRefused
    /// Bytes that must be text but are not valid UTF-8.
    case notText
    /// A call in the wrong place: `write` inside `write`, a scope's argument after its end.
    case misuse
    /// The store was closed.
    case closed
    /// The task was cancelled, a handler of progress threw, or a time limit passed.
    case cancelled
    /// The disk or the file system failed. If it did not confirm a write, every later write of the open store throws
    /// this too, until the store is opened again.
    case ioFailure
    /// Memory, randomness or OpenSSL failed.
    case systemFailure
  }

  /// The kind of error, which decides whether two errors are equal.
  public let code: Code
  /// The error in words, with the place.
  public let message: String
  /// The next step for the user, if there is one; ``hint`` has it in the library's words.
  public let advice: ErrorHint?
  /// The document with the error; nil if it is not about a single one, or its id is not known.
  public let documentID: DocumentID?

  /// An error with its message, for code that adds calls to a store: a message holds no text, title or key.
  public init(_ code: Code, _ message: String, hint: ErrorHint? = nil, documentID: DocumentID? = nil) {
    self.code = code
    self.message = message
    advice = hint
    self.documentID = documentID
  }

  /// The next step for the user, if there is one. It names calls of the library.
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
  /// A key or seal that failed before a row was known.
  package init(_ error: SealingError) {
    switch error.code {
    case .notAuthentic, .malformed: self = .damagedStore(error.message)
    case .invalidKeyLine:
      self.init(.keyFileInvalid, error.message, hint: "take the file that \(.makeKey) made, or a copy of it")
    case .invalidPassphrase: self.init(.keyFileInvalid, error.message)
    case .parametersRefused:
      self.init(
        .parametersRefused, error.message, hint: "no writer makes such a slot: restore the store from a backup")
    case .fileFailure: self.init(.keyFileInvalid, error.message)
    case .systemFailure: self.init(.systemFailure, error.message)
    }
  }

  /// The error for a seal that did not open: `damage`, unless this machine failed.
  package static func unopened(_ error: SealingError, _ damage: @autoclosure () -> StoreError) -> StoreError {
    error.code == .systemFailure ? StoreError(error) : damage()
  }

  /// Whether the error is about this machine or this moment and says nothing about the file.
  package var isPassing: Bool {
    switch code {
    case .systemFailure, .locked, .cancelled, .keyChanged, .closed: true
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
      hint: "\(.verify) shows what else is; restore this document from a backup", documentID: DocumentID(id))
  }

  package static func damagedStore(_ what: String) -> StoreError {
    StoreError(
      .damaged, "the store is damaged: \(what)",
      hint: "restore it from a backup, or salvage what can be read into a new store")
  }

  package static var setMismatch: StoreError {
    StoreError(
      .setMismatch, "the documents are not the set that was written: some are missing, older or changed",
      hint: "restore the store from a backup, or salvage what can be read into a new store")
  }

  package static func writtenWhileListed(_ id: Int64) -> StoreError {
    StoreError(
      .misuse, "document \(id) was added or moved by the list that it is in",
      hint: "end the list before its documents are added or moved", documentID: DocumentID(id))
  }

  package static var storeClosed: StoreError { StoreError(.closed, "the store was closed") }

  /// Attributes that JSON can't hold.
  package static func refusedAttributes(_ fault: JSONError) -> StoreError {
    StoreError(.invalidArgument, "the attributes can't be stored: \(fault.reason)")
  }

  package static func noSuchDocument(_ id: DocumentID) -> StoreError {
    StoreError(.noSuchDocument, "there is no document \(id)", documentID: id)
  }
}

/// Runs work of CofferSealing and translates its error.
@inline(__always)
package func sealing<R: ~Copyable>(_ work: () throws(SealingError) -> R) throws(StoreError) -> R {
  do throws(SealingError) {
    return try work()
  } catch {
    throw StoreError(error)
  }
}
