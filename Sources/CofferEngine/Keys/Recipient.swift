public import CofferFoundation
internal import CofferRecords
internal import CofferSealing

/// A recipient who can open a store, identified by an identity's public half, which isn't secret.
///
/// ```swift
/// let customer = try Recipient("coffer-recipient-1-…")
/// let store = try DocumentStore.create(at: url, keys: [.keyFile(keyURL)], recipients: [customer])
/// ```
public struct Recipient: Sendable, Hashable {
  /// The `coffer-recipient-1-` line.
  public let line: String

  /// Creates a recipient from a `coffer-recipient-1-` line.
  ///
  /// - Throws: `keyFileInvalid` for an invalid line, or a key's or identity's line.
  public init(_ line: String) throws(StoreError) {
    _ = try translatingErrors { () throws(SealingError) in try KeyLine(recipient: line) }
    self.line = line
  }

  /// Creates a recipient from an identity file, and only keeps the public half. The file can also contain a recipient.
  ///
  /// - Throws: `keyFileInvalid` if the file can't be read, or doesn't contain an identity.
  public init(identity url: URL) throws(StoreError) {
    line = try translatingErrors { () throws(SealingError) in try KeyLine.load(path: url.path).recipient() }
  }
}

extension Recipient: CustomStringConvertible {
  public var description: String { line }
}
