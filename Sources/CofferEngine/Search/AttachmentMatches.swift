internal import CofferPatterns
package import CofferRecords

/// The attachments whose names match a pattern.
package struct AttachmentMatches {
  private var names: [Int64: [SearchMatch.AttachmentName]] = [:]

  /// Creates matches of a search that doesn't look at names.
  package init() {}

  /// Opens the row of every attachment.
  ///
  /// - Throws: Errors of reading. Damaged attachments, and attachments of a later version, don't have a name.
  package init(of pattern: SearchPattern, in transaction: StoreTransaction) throws(StoreError) {
    let matcher = DocumentMatcher(pattern, in: .attachmentNames)
    var walk = AttachmentWalk(transaction.database, within: transaction.limits, next: transaction.nextAttachment)
    try walk.forEach(refused: { _ in }) { row throws(StoreError) in
      try transaction.requireOpen()
      guard let record = try transaction.searchedRecord(row),
        let match = matcher.match(record.name, of: Attachment.ID(rawValue: record.number))
      else { return }
      names[record.document, default: []].append(match)
    }
  }

  /// Finds the matching names of one document's attachments.
  ///
  /// - Throws: Like ``init(of:in:)``.
  package init(of pattern: SearchPattern, in id: DocumentID, _ transaction: StoreTransaction) throws(StoreError) {
    let matcher = DocumentMatcher(pattern, in: .attachmentNames)
    transaction.notes?.note(id)
    let attached = try AttachedNames(of: id.rawValue...id.rawValue, in: transaction)
    defer { attached.end() }
    names[id.rawValue] = try attached.find(of: id.rawValue).names.compactMap {
      matcher.match($0.name, of: $0.attachment)
    }
  }

  /// Returns the matching names of a document's attachments.
  package subscript(_ id: DocumentID) -> [SearchMatch.AttachmentName] { names[id.rawValue] ?? [] }

  /// The documents with a matching name.
  package var documents: Set<Int64> { Set(names.filter { !$0.value.isEmpty }.keys) }
}

extension StoreTransaction {
  /// Opens an attachment for a search, or returns `nil` if it's damaged, or of a later version.
  func searchedRecord(_ row: AttachmentRow) throws(StoreError) -> AttachmentRecord? {
    do throws(StoreError) {
      return try attachmentRecord(row)
    } catch {
      guard error.code == .damaged || error.code == .otherFormat else { throw error }
      logger.warning("attachment \(row.number) is not searched: \(error.message)")
      return nil
    }
  }
}

extension DocumentMatcher {
  fileprivate func match(_ name: String, of id: Attachment.ID) -> SearchMatch.AttachmentName? {
    var bytes = name
    let ranges: [Range<Int>]? = bytes.withUTF8 {
      let bytes = UnsafeRawBufferPointer($0)
      return matcher.matches(bytes) ? matcher.ranges(in: bytes, limit: Self.maximumRanges) : nil
    }
    guard let ranges else { return nil }
    return SearchMatch.AttachmentName(attachment: id, name: name, ranges: ranges)
  }
}
