package import CofferDocuments
package import CofferEngine
package import CofferRecords

extension StoreTransaction {
  /// Returns the records of a document's attachments, with their identities, dots and keys.
  package func attachmentRecords(of id: DocumentID) throws(StoreError) -> [AttachmentRecord] {
    var records: [AttachmentRecord] = []
    try forEachAttachmentRecord(of: id) { records.append($0) }
    return records
  }
}
