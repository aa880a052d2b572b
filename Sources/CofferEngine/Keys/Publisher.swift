public import CofferFoundation
internal import CofferRecords
internal import CofferSealing

/// Someone who signs releases: the public half of a signing key. It isn't secret.
///
/// Get the line over another channel than the releases, for example as a part of the app.
public struct Publisher: Sendable, Hashable {
  /// The `coffer-publisher-1-` line.
  public let line: String
  /// A Boolean value that indicates whether the key is a test key, which signs TEST stores only.
  public let isTest: Bool
  let publicKey: [UInt8]

  /// Reads a `coffer-publisher-1-` line.
  ///
  /// - Throws: `keyFileInvalid` for an invalid line, and for a line of another kind.
  public init(_ line: String) throws(StoreError) {
    let found = try translatingErrors { () throws(SealingError) in try KeyLine(publisher: line) }
    publicKey = try translatingErrors { () throws(SealingError) in try found.publisherBytes() }
    (self.line, isTest) = (line, found.isTest)
  }

  /// The name of the key in signed notes.
  var noteName: String { Self.noteName(isTest: isTest) }

  static func noteName(isTest: Bool) -> String { isTest ? "coffer-test-release" : "coffer-release" }

  /// Returns the key as other tools for C2SP signed notes take it.
  ///
  /// - Throws: `systemFailure` without memory.
  public func verifierKey() throws(StoreError) -> String {
    try translatingErrors { () throws(SealingError) in try SignedNote.verifierKey(noteName, publicKey) }
  }
}

extension Publisher: CustomStringConvertible {
  public var description: String { line }
}

/// The secret that signs releases. Keep it off the machines that read them.
public struct SigningKey: Sendable {
  /// The public half, which readers of releases know.
  public let publisher: Publisher
  private let secret: Secret

  /// Reads a file with a `coffer-signing-1-` line.
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
