/// The text form of a key, identity, recipient, signing key or publisher, such as `coffer-key-1-` followed by 72
/// lowercase hex digits.
///
/// The digits encode 32 bytes and a checksum that detects mistyped lines. The checksum is SHA-256(prefix with its last
/// dash || the 32 bytes), truncated to 4 bytes (FORMAT, "Key files, pin, anchor"). A test key has `test-` in its prefix
/// and opens only TEST stores.
public struct KeyLine: Sendable {
  /// The kind of key.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// 32 random bytes that open a slot.
    case key
    /// An X25519 secret that decrypts data sealed for its recipient.
    case identity
    /// An X25519 public key, which may be shown to anyone.
    case recipient
    /// An Ed25519 secret that signs releases. It can't open slots.
    case signing
    /// An Ed25519 public key, which may be shown to anyone.
    case publisher

    /// The kind with its article.
    package var name: String {
      switch self {
      case .key: "a key"
      case .identity: "an identity"
      case .recipient: "a recipient"
      case .signing: "a signing key"
      case .publisher: "a publisher"
      }
    }

    /// Whether the line may be shown to anyone.
    package var isPublic: Bool { self == .recipient || self == .publisher }
  }

  /// The kind of key.
  public let kind: Kind
  /// A Boolean value that indicates whether this is a test key, which opens only TEST stores.
  public let isTest: Bool
  /// The 32 bytes.
  package let secret: Secret

  package init(kind: Kind, isTest: Bool, secret: Secret) {
    precondition(secret.count == 32, "internal error: a key has 32 bytes")
    self.kind = kind
    self.isTest = isTest
    self.secret = secret
  }

  /// Creates a key, identity or signing key with 32 random bytes from the kernel in locked memory. Doesn't write a
  /// file.
  ///
  /// - Throws: `invalidKeyLine` for `recipient` and `publisher`, which are made from their secrets. `systemFailure` if
  ///   randomness or memory isn't available.
  public static func generate(_ kind: Kind, isTest: Bool = false) throws(SealingError) -> KeyLine {
    guard !kind.isPublic else {
      throw SealingError(.invalidKeyLine, "\(kind.name) is made from its secret, not by itself")
    }
    return KeyLine(kind: kind, isTest: isTest, secret: try .random(byteCount: 32))
  }

  /// Returns an identity's public half, or a recipient's bytes, which are public already.
  package func recipientBytes() throws(SealingError) -> [UInt8] {
    switch kind {
    case .recipient: return secret.withUnsafeBytes { Array($0) }
    case .identity: return try X25519.publicKey(of: secret)
    case .key: throw SealingError(.invalidKeyLine, "a key file has no recipient: use an identity (keygen --identity)")
    case .signing, .publisher:
      throw SealingError(.invalidKeyLine, "\(kind.name) has no recipient: use an identity (keygen --identity)")
    }
  }

  /// Returns a signing key's public half, or a publisher's bytes, which are public already.
  package func publisherBytes() throws(SealingError) -> [UInt8] {
    switch kind {
    case .publisher: return secret.withUnsafeBytes { Array($0) }
    case .signing: return try Ed25519.publicKey(of: secret)
    case .key, .identity, .recipient:
      throw SealingError(.invalidKeyLine, "\(kind.name) signs nothing: use a signing key (keygen --signing)")
    }
  }

  /// Returns the recipient line, which isn't secret. Anyone can use the line to seal data for this identity.
  ///
  /// - Throws: `invalidKeyLine` for a key, signing key or publisher, because they don't have recipients.
  ///   `systemFailure`.
  public func recipient() throws(SealingError) -> String {
    try Self.recipientLine(recipientBytes(), isTest: isTest)
  }

  package static func recipientLine(_ bytes: [UInt8], isTest: Bool) throws(SealingError) -> String {
    try publicLine(.recipient, bytes, isTest: isTest)
  }

  /// Returns the publisher line, which isn't secret. Anyone can use the line to verify this signing key's signatures.
  ///
  /// - Throws: `invalidKeyLine` for a key, identity or recipient. `systemFailure`.
  public func publisher() throws(SealingError) -> String {
    try Self.publisherLine(publisherBytes(), isTest: isTest)
  }

  package static func publisherLine(_ bytes: [UInt8], isTest: Bool) throws(SealingError) -> String {
    try publicLine(.publisher, bytes, isTest: isTest)
  }

  private static func publicLine(_ kind: Kind, _ bytes: [UInt8], isTest: Bool) throws(SealingError) -> String {
    let secret = bytes.withUnsafeBytes { Secret(copying: $0) }
    return try KeyLine(kind: kind, isTest: isTest, secret: secret).line().withUnsafeBytes {
      String(decoding: $0, as: UTF8.self)
    }
  }
}

// MARK: - Reading

extension KeyLine {
  private static let digitCount = 72

  private static func prefix(_ kind: Kind, isTest: Bool) -> String {
    "coffer-\(isTest ? "test-" : "")\(kind.rawValue)-1-"
  }

  /// Reads the only key line in a file. Skips empty lines and lines that start with `#`.
  ///
  /// - Throws: `invalidKeyLine` unless the file has exactly one key line, which must be complete, with a correct
  ///   checksum. A small-order public key is also invalid. The message mentions an unexpected encoding, and text around
  ///   the line.
  public init(parsing file: Secret) throws(SealingError) {
    do throws(SealingError) {
      self = try Self.onlyLine(of: file)
    } catch {
      guard error.code == .invalidKeyLine, let fault = SecretForm(of: file).encoding.fault else { throw error }
      throw SealingError(.invalidKeyLine, "the key file \(fault), and should be plain ASCII")
    }
  }

  private static func onlyLine(of file: Secret) throws(SealingError) -> KeyLine {
    var found: KeyLine?
    var (start, number) = (0, 0)
    while start < file.count {
      let range = line(in: file, from: start)
      start = range.upperBound + 1
      number += 1
      let line = file.withUnsafeBytes { bytes in
        var end = range.upperBound
        if end < bytes.count, end > range.lowerBound, bytes[end - 1] == 0x0D { end -= 1 }
        return range.lowerBound..<end
      }
      let isComment = file.withUnsafeBytes { !line.isEmpty && $0[line.lowerBound] == UInt8(ascii: "#") }
      if line.isEmpty || isComment { continue }
      guard found == nil else { throw SealingError(.invalidKeyLine, "the key file holds more than one key line") }
      found = try parse(file, line, "line \(number)")
    }
    guard let found else { throw SealingError(.invalidKeyLine, "the key file holds no key line") }
    return found
  }

  /// Reads a recipient. Recipients are public, so the line can be a string.
  ///
  /// - Throws: `invalidKeyLine` if the line is invalid or has another kind.
  public init(recipient text: String) throws(SealingError) {
    try self.init(.recipient, text)
  }

  /// Reads a publisher. Publishers are public, so the line can be a string.
  ///
  /// - Throws: `invalidKeyLine` if the line is invalid or has another kind.
  public init(publisher text: String) throws(SealingError) {
    try self.init(.publisher, text)
  }

  private init(_ kind: Kind, _ text: String) throws(SealingError) {
    var text = text
    let secret = text.withUTF8 { Secret(copying: UnsafeRawBufferPointer($0)) }
    let line = try Self.parse(secret, 0..<secret.count, "this line")
    guard line.kind == kind else {
      throw SealingError(
        .invalidKeyLine,
        "this is \(line.kind.name), not \(kind.name)"
          + (line.kind.isPublic ? "" : ": it was shown where others may have read it"))
    }
    self = line
  }

  /// Reads a file's key line.
  ///
  /// - Returns: The key, identity, recipient, signing key or publisher.
  /// - Throws: `fileFailure` if the file can't be read or exceeds 64 KiB. `invalidKeyLine` as in ``init(parsing:)``.
  public static func load(path: String) throws(SealingError) -> KeyLine {
    do throws(SealingError) {
      return try KeyLine(parsing: .readAll(path: path))
    } catch {
      throw error.code == .invalidKeyLine ? SealingError(error.code, "\(path): \(error.message)") : error
    }
  }

  private static func line(in file: Secret, from start: Int) -> Range<Int> {
    file.withUnsafeBytes { bytes in
      start..<(bytes[start...].firstIndex(of: 0x0A) ?? bytes.count)
    }
  }

  /// Reads the line in a range of the file.
  ///
  /// - Parameter place: A description of the line for errors.
  private static func parse(
    _ file: Secret, _ range: Range<Int>, _ place: String
  ) throws(SealingError) -> KeyLine {
    for kind in Kind.allCases {
      for isTest in [false, true] {
        let prefix = Array(prefix(kind, isTest: isTest).utf8)
        let fits = file.withUnsafeBytes { $0[range].starts(with: prefix) }
        guard fits else { continue }
        let article = kind.name
        let digitsHere = file.withUnsafeBytes { $0[range].dropFirst(prefix.count).prefix(while: isDigit).count }
        guard digitsHere != digitCount || range.count == prefix.count + digitCount else {
          throw SealingError(.invalidKeyLine, "\(place): something follows the digits of \(article)")
        }
        guard range.count == prefix.count + digitCount else {
          throw SealingError(.invalidKeyLine, "\(article) has \(digitCount) digits, this line another number")
        }
        let digits = range.lowerBound + prefix.count..<range.upperBound
        guard let decoded = decodeHex(file, digits) else {
          throw SealingError(.invalidKeyLine, "\(article) is written in lower-case hex digits, this line is not")
        }
        let line = KeyLine(kind: kind, isTest: isTest, secret: decoded.slice(0..<32))
        guard try line.checksum().isEqual(to: decoded.slice(32..<36)) else {
          throw SealingError(.invalidKeyLine, "the checksum of \(article) does not fit: it was changed or mistyped")
        }
        if kind == .recipient, X25519.isSmallOrder(try line.recipientBytes()) {
          throw SealingError(
            .invalidKeyLine, "the public key of \(article) is of small order: nobody could open its slot")
        }
        if kind == .publisher, Ed25519.isSmallOrder(try line.publisherBytes()) {
          throw SealingError(
            .invalidKeyLine, "the public key of \(article) is of small order: anyone could sign for it")
        }
        return line
      }
    }
    guard let line = SecretForm(of: file.slice(range)).line else {
      throw SealingError(
        .invalidKeyLine, "\(place) is no key, identity, recipient, signing key or publisher of format 1")
    }
    throw SealingError(
      .invalidKeyLine,
      "\(place) holds \(line.name), but not alone or not in the form in which it was made: look for quotes, spaces and "
        + "capital letters")
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }

  private static func decodeHex(_ file: Secret, _ digits: Range<Int>) -> Secret? {
    var isValid = true
    let secret = Secret(byteCount: digits.count / 2) { memory in
      file.withUnsafeBytes { bytes in
        func value(_ byte: UInt8) -> UInt8 {
          switch byte {
          case 0x30...0x39: return byte - 0x30
          case 0x61...0x66: return byte - 0x61 + 10
          default:
            isValid = false
            return 0
          }
        }
        for index in 0..<digits.count / 2 {
          let at = digits.lowerBound + 2 * index
          memory[index] = value(bytes[at]) << 4 | value(bytes[at + 1])
        }
      }
      return digits.count / 2
    }
    return isValid ? secret : nil
  }

  /// Returns SHA-256(prefix with its last dash || the 32 bytes), truncated to 4 bytes.
  private func checksum() throws(SealingError) -> Secret {
    let label = Array(Self.prefix(kind, isTest: isTest).utf8)
    return try Secret(byteCount: 32) { digest throws(SealingError) in
      let input = Secret(byteCount: label.count + 32) { memory in
        memory.copyBytes(from: label)
        secret.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: memory[label.count...]).copyMemory(from: $0) }
        return memory.count
      }
      try input.withUnsafeBytes { input throws(SealingError) in
        try DigestContext.digest(of: input, into: digest)
      }
      return 4
    }
  }
}

// MARK: - Writing

extension KeyLine {
  /// Returns the line without a line break.
  package func line() throws(SealingError) -> Secret {
    let prefix = Array(Self.prefix(kind, isTest: isTest).utf8)
    let checksum = try checksum()
    return Secret(byteCount: prefix.count + Self.digitCount) { memory in
      memory.copyBytes(from: prefix)
      var at = prefix.count
      for part in [secret, checksum] {
        part.withUnsafeBytes { bytes in
          for byte in bytes {
            memory[at] = Self.digit(byte >> 4)
            memory[at + 1] = Self.digit(byte & 15)
            at += 2
          }
        }
      }
      return at
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x61 + value - 10
  }
}
