internal import CofferRecords

/// A document that can't be read, and the reason.
public struct DamagedDocument: Sendable, Hashable {
  public let id: DocumentID
  public let reason: String
}
