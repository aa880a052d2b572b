public import CofferFoundation
internal import CofferRecords
internal import CofferSealing

/// Someone who may open a store: the public half of an identity. It isn't secret.
///
/// ```swift
/// let customer = try Recipient("coffer-recipient-1-…")
/// let store = try DocumentStore.create(at: url, keys: [.keyFile(keyURL)], recipients: [customer])
/// ```
public struct Recipient: Sendable, Hashable {
  /// The `coffer-recipient-1-` line.
  public let line: String

  /// Reads a `coffer-recipient-1-` line.
  ///
  /// - Throws: `keyFileInvalid` for an invalid line, and for the line of a key or identity.
  public init(_ line: String) throws(StoreError) {
    _ = try translatingErrors { () throws(SealingError) in try KeyLine(recipient: line) }
    self.line = line
  }

  /// Reads an identity file, and keeps only its public half. The file can also contain a recipient.
  ///
  /// - Throws: `keyFileInvalid` if the file can't be read, or doesn't contain an identity.
  public init(identity url: URL) throws(StoreError) {
    line = try translatingErrors { () throws(SealingError) in try KeyLine.load(path: url.path).recipient() }
  }
}

extension Recipient: CustomStringConvertible {
  public var description: String { line }
}
