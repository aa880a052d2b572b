internal import CofferRecords

/// A document that can't be read, and the reason.
public struct DamagedDocument: Sendable, Hashable {
  /// The document's id, as its row has it.
  public let id: DocumentID
  /// The fault in words, without text, title or key.
  public let reason: String
}
