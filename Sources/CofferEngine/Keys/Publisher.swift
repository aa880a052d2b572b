public import CofferFoundation
internal import CofferRecords
internal import CofferSealing

/// The signer of releases, identified by a signing key's public half, which isn't secret.
///
/// Get the line through a different channel than the releases, for example as a part of the app.
public struct Publisher: Sendable, Hashable {
  /// The `coffer-publisher-1-` line.
  public let line: String
  /// A Boolean value that indicates whether the key is a test key, which only signs TEST stores.
  public let isTest: Bool
  let publicKey: [UInt8]

  /// Creates a publisher from a `coffer-publisher-1-` line.
  ///
  /// - Throws: `keyFileInvalid` for an invalid line or another kind of line.
  public init(_ line: String) throws(StoreError) {
    let found = try translatingErrors { () throws(SealingError) in try KeyLine(publisher: line) }
    publicKey = try translatingErrors { () throws(SealingError) in try found.publisherBytes() }
    (self.line, isTest) = (line, found.isTest)
  }

  /// The key's name in signed notes.
  var noteName: String { Self.noteName(isTest: isTest) }

  static func noteName(isTest: Bool) -> String { isTest ? "coffer-test-release" : "coffer-release" }

  /// Returns the key in the form that other tools for C2SP signed notes use.
  ///
  /// - Throws: `systemFailure` if memory is insufficient.
  public func verifierKey() throws(StoreError) -> String {
    try translatingErrors { () throws(SealingError) in try SignedNote.verifierKey(noteName, publicKey) }
  }
}

extension Publisher: CustomStringConvertible {
  public var description: String { line }
}

/// A secret that signs releases. Keep it away from machines that read releases.
public struct SigningKey: Sendable {
  /// The public half, which release readers expect.
  public let publisher: Publisher
  private let secret: Secret

  /// Creates a signing key from a file with a `coffer-signing-1-` line.
  ///
  /// - Throws: `keyFileInvalid` if the file can't be read, or doesn't contain a signing key.
  public init(contentsOf url: URL) throws(StoreError) {
    let path = url.path
    let line = try translatingErrors { () throws(SealingError) in try KeyLine.load(path: path) }
    guard line.kind == .signing else {
      throw StoreError(
        .keyFileInvalid, "\(path) holds \(line.kind.name), not a signing key",
        hint: "make a signing key with 'keygen --signing', and keep it")
    }
    publisher = try Publisher(try translatingErrors { () throws(SealingError) in try line.publisher() })
    secret = line.secret
  }

  package func sign(_ text: String) throws(StoreError) -> SignedNote {
    try translatingErrors { () throws(SealingError) in
      try SignedNote(signing: text, as: publisher.noteName, with: secret)
    }
  }
}
