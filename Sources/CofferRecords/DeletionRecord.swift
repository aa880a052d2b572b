package import CofferSQLite
package import CofferSealing

/// The deletion of a document, opened from its row (FORMAT, "Deletions").
package struct DeletionRecord: Hashable, Sendable {
  /// The row's number.
  package var number: Int64
  package var revision: UInt64
  /// The deleted document.
  package var uid: UniqueID
  /// The commits that deleted it, in dot order.
  package var dots: [Dot]
  /// The commit that made exactly this state of the deletion.
  package var stamp: Dot
  /// The entries of later versions.
  package var extensionBytes: [UInt8] = []
}

extension DeletionRecord {
  /// `uid || varint count || dots || stamp || extension part`
  package var data: [UInt8] {
    var builder = ByteBuilder(reserving: UniqueID.byteCount + 24)
    builder.append(uid)
    builder.append(varint: UInt64(dots.count))
    for dot in dots { builder.append(dot) }
    builder.append(stamp)
    builder.append(bytes: extensionBytes)
    return builder.bytes
  }

  package func seal(_ keys: RowKeys) throws(StoreError) -> DeletionRow {
    let frame = Frame.around(data, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
    let epoch = keys.active.epoch
    let sealed = try translatingErrors { () throws(SealingError) in
      try keys.active.name.seal(
        frame, authenticating: Array(keys.binding.deletion(number, revision: revision, epoch: epoch)))
    }
    guard sealed.count <= StoreFormat.maximumSealedDeletion else {
      throw StoreError(.tooLarge, "a document was deleted by too many commits that did not know each other")
    }
    return DeletionRow(number: number, revision: revision, sealed: sealed)
  }

  /// - Throws: `damaged` if the row is invalid. `otherFormat` for entries of a later version.
  package init(_ row: DeletionRow, _ keys: RowKeys) throws(StoreError) {
    let damage = StoreError.damagedStore("deletion #\(row.number) can't be opened")
    let isPadded = keys.session.isPadded
    var part: ExtensionPart?
    let record: DeletionRecord?
    do throws(SealingError) {
      let frame = try keys.active.name.open(
        row.sealed,
        authenticating: Array(keys.binding.deletion(row.number, revision: row.revision, epoch: keys.active.epoch)))
      record = try frame.withBytes { frame throws(SealingError) in
        let range = try Frame.dataRange(of: frame, minimum: Frame.standardMinimum, isPadded: isPadded)
        return DeletionRecord(
          UnsafeRawBufferPointer(rebasing: frame[range]), number: row.number, revision: row.revision, &part)
      }
    } catch {
      throw .unopened(error, damage)
    }
    guard let record, let part else { throw damage }
    guard !part.isNewer else { throw .newerStore }
    self = record
  }

  /// Reads ``data``, or returns `nil` for invalid bytes.
  package init?(_ data: UnsafeRawBufferPointer, number: Int64, revision: UInt64, _ part: inout ExtensionPart?) {
    var reader = ByteReader(data)
    guard let uid = reader.uniqueID(), let count = reader.varint(), count >= 1, count <= UInt64(reader.remaining)
    else { return nil }
    var dots: [Dot] = []
    for _ in 0..<count {
      guard let dot = reader.dot(), dots.last.map({ $0 < dot }) ?? true else { return nil }
      dots.append(dot)
    }
    guard let stamp = reader.dot(), let rest = reader.bytes(reader.remaining),
      let entries = ExtensionPart(rest, of: .deletion)
    else { return nil }
    self.init(number: number, revision: revision, uid: uid, dots: dots, stamp: stamp)
    extensionBytes = Array(entries.bytes)
    part = entries
  }
}

/// A row of `coffer_gone` with checked columns, which isn't verified yet.
package struct DeletionRow {
  package let number: Int64
  package let revision: UInt64
  package let sealed: [UInt8]
}

extension DeletionRow {
  /// Creates a row from the columns of ``SQL/deletions``.
  ///
  /// - Throws: `damaged` if a column is invalid.
  package init(_ row: [SQLiteValue], generation: UInt64) throws(StoreError) {
    guard case .integer(let number) = row[0], number >= 1,
      case .integer(let revision) = row[1], (1...StoreFormat.maximumGeneration).contains(revision),
      UInt64(revision) <= generation, case .blob(let sealed) = row[2],
      (XAESKey.overhead + Frame.headerCount...StoreFormat.maximumSealedDeletion).contains(sealed.count)
    else { throw .damagedStore("the row of a deletion is out of its bounds") }
    self.init(number: number, revision: UInt64(revision), sealed: sealed)
  }

  /// Returns the row's set hash element.
  package func element(_ keys: RowKeys) throws(StoreError) -> SetElement {
    try translatingErrors { () throws(SealingError) in
      let epoch = keys.active.epoch
      let element = sealed.withBytes {
        keys.binding.deletionElement(number, epoch: epoch, revision: revision, sealed: $0)
      }
      return try keys.active.set.element(of: element)
    }
  }
}
