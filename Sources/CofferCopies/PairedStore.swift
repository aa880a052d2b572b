internal import CofferDocuments
package import CofferEngine
package import CofferRecords
internal import CofferSealing

/// One of two stores that are read together, such as a store and the backup that it's compared with.
///
/// All operations on two stores verify and read rows with this type, so every error about a row names its store.
package struct PairedStore {
  package let transaction: StoreTransaction
  /// What to do about errors in rows, or `nil` to keep the hints of the errors.
  private let hint: ErrorHint?

  package init(_ transaction: StoreTransaction, hint: ErrorHint? = nil) {
    self.transaction = transaction
    self.hint = hint
  }

  /// The caller's path, because a store with a journal or log may be read from a private copy.
  private var path: String { transaction.connection.session.path }
  private var pin: StorePin { StorePin(transaction.keys.session.header) }

  // MARK: Histories

  /// Requires a replica that both stores know, so their documents share identities.
  ///
  /// - Throws: `invalidArgument`.
  package func requireCommonOrigin(with other: PairedStore, hint: ErrorHint) throws(StoreError) {
    let known = Set(try naming { () throws(StoreError) in try transaction.replicas.entries }.map(\.identity))
    let others = try other.naming { () throws(StoreError) in try other.transaction.replicas.entries }
    guard !others.contains(where: { known.contains($0.identity) }) else { return }
    throw StoreError(
      .invalidArgument, "the stores have no common origin, so their documents have no common identities",
      hint: hint)
  }

  /// Requires two files of one store to have the same root key.
  ///
  /// A former key holder can have written the other file and rekeyed it any number of times, so a root key's number
  /// isn't a proof. Files of different stores have independent root keys, which a pin identifies.
  ///
  /// - Throws: `rolledBack`.
  package func requireSameRootKey(as other: PairedStore) throws(StoreError) {
    guard pin.storeID == other.pin.storeID else { return }
    let (one, two) = (transaction.keys.session.root, other.transaction.keys.session.root)
    guard try StorePin(one, phase: 0) != StorePin(two, phase: 0) else { return }
    throw StoreError(
      .rolledBack,
      "\(path) and \(other.path) are files of one store with different root keys, so a holder of a former key can have "
        + "written one of them",
      hint: "if you know where both files were since, accept them with \(.acceptRekey)")
  }

  // MARK: Rows

  /// Adds the store's path to errors about its rows.
  package func naming<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      throw error.naming(path, hint: hint)
    }
  }

  /// Verifies all rows against the state's set hash and count.
  ///
  /// - Throws: `setMismatch` if rows are missing, old or forged, or `damaged`.
  package func requireWhole(_ visit: (RecordRow, RecordOpener) throws(StoreError) -> Void = { _, _ in })
    throws(StoreError)
  {
    try naming { () throws(StoreError) in try transaction.requireWhole(visit) }
  }

  /// Verifies all rows like ``requireWhole(_:)``, and verifies that the position index has the same entries.
  ///
  /// - Throws: `setMismatch`, or `damaged`.
  package func requireWholeInOrder() throws(StoreError) {
    var proof = OrderProof()
    try requireWhole { row, _ throws(StoreError) in proof.add(row) }
    try naming { () throws(StoreError) in
      try proof.readIndex(of: transaction)
      try proof.require()
    }
  }

  /// Requires a document's row to be encrypted with the current key, which former key holders can't have. Only
  /// verifying all rows detects a row that they changed.
  ///
  /// - Throws: `setMismatch`.
  func requireCurrentKey(_ id: Int64) throws(StoreError) {
    try row(id) { row, _ throws(StoreError) in
      guard transaction.keys.session.keyring.active != row.fields.epoch else { return }
      throw StoreError(
        .setMismatch, "\(path): a former key holder can have changed document \(id)",
        hint: "restore it from another copy",
        documentID: DocumentID(id))
    }
  }

  /// Reads a document's row and its verified head, which a later version may have written.
  ///
  /// - Throws: `noSuchDocument`, or `damaged`.
  func row<R>(_ id: Int64, _ read: (RecordRow, HeadData) throws(StoreError) -> R) throws(StoreError) -> R {
    try naming { () throws(StoreError) in
      try transaction.reading { reader throws(StoreError) in
        let row = try reader.row(DocumentID(id), withBody: false, within: transaction.limits)
        return try read(row, try reader.opener.openHead(row, acceptsNewer: true))
      }
    }
  }

  /// Reads a document's row like ``row(_:_:)``, or returns `nil` if the document doesn't exist.
  func rowIfPresent<R>(_ id: Int64, _ read: (RecordRow, HeadData) throws(StoreError) -> R) throws(StoreError) -> R? {
    do throws(StoreError) {
      return try row(id, read)
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return nil
    }
  }

  /// Calls `visit` with each document's row and its verified head, which a later version may have written.
  ///
  /// - Parameter skipsDamaged: Whether to skip rows that can't be opened.
  package func forEachRow(
    skippingDamaged skipsDamaged: Bool = false, _ visit: (RecordRow, HeadData) throws(StoreError) -> Void
  ) throws(StoreError) {
    let statement = try transaction.database.statement(SQL.allRecords)
    defer { statement.reset() }
    try naming { () throws(StoreError) in
      try transaction.reading { reader throws(StoreError) in
        while try statement.step() {
          let row: RecordRow
          let head: HeadData
          do throws(StoreError) {
            row = try RecordRow(statement.columns(), within: transaction.limits)
            head = try reader.opener.openHead(row, acceptsNewer: true)
          } catch {
            guard skipsDamaged, error.code == .damaged else { throw error }
            continue
          }
          try visit(row, head)
        }
      }
    }
  }

  /// Returns a document to seal its text with another key, after comparing the text's digest with the head.
  func document(_ id: Int64, acceptingNewer acceptsNewer: Bool = false) throws(StoreError) -> StoredDocument {
    try naming { () throws(StoreError) in
      try transaction.storedDocument(DocumentID(id), acceptingNewer: acceptsNewer, provingText: true)
    }
  }

  /// Calls `work` with a document's text.
  func withText<R>(_ id: DocumentID, _ work: (OpenedDocument) throws(StoreError) -> R) throws(StoreError) -> R {
    try naming { () throws(StoreError) in try transaction.withOpened(id, work) }
  }

  func collections() throws(StoreError) -> [CollectionRecord] {
    try naming { () throws(StoreError) in try transaction.collections() }
  }

  /// Returns a document's attachments, which a later version may have written.
  func attachments(of id: DocumentID) throws(StoreError) -> [AttachmentRecord] {
    try naming { () throws(StoreError) in
      try transaction.attachmentRows(of: id.rawValue).map { row throws(StoreError) in
        try AttachmentRecord(row, transaction.keys)
      }
    }
  }

  /// Returns a document's verified header.
  func header(_ id: Int64) throws(StoreError) -> DocumentHeader {
    try naming { () throws(StoreError) in try transaction.header(of: DocumentID(id)) }
  }
}

extension StoreError {
  /// Returns the error with a file's path and another hint, if it's about a file's rows.
  func naming(_ path: String, hint: ErrorHint?) -> StoreError {
    guard code == .setMismatch || code == .damaged, !message.hasPrefix("\(path): ") else { return self }
    return StoreError(code, "\(path): \(message)", hint: hint ?? advice, documentID: documentID)
  }
}
