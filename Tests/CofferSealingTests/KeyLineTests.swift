import CofferSealing
import Foundation
import Testing

@Suite struct KeyLineTests {
  private static let digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
  private static let key = "coffer-key-1-\(digits)395897b9"
  private static let testKey = "coffer-test-key-1-\(digits)a3abb8f3"
  private static let identity = "coffer-identity-1-\(digits)961f412e"
  private static let recipient = "coffer-recipient-1-\(digits)ba5c14d5"

  private func refusal(_ file: String) -> SealingError? {
    refusal(Array(file.utf8))
  }

  private func refusal(_ file: [UInt8]) -> SealingError? {
    do throws(SealingError) {
      _ = try KeyLine(parsing: Secret(file))
      return nil
    } catch {
      return error
    }
  }

  // MARK: - Invalid lines

  @Test(arguments: [
    ("a wrong checksum", "coffer-key-1-\(digits)395897b8"),
    ("another key under this checksum", "coffer-key-1-1\(digits.dropFirst())395897b9"),
    ("upper-case digits", "coffer-key-1-\(digits.uppercased())395897b9"),
    ("an upper-case prefix", "COFFER-KEY-1-\(digits)395897b9"),
    ("a digit too few", String(key.dropLast())),
    ("two digits too few", String(key.dropLast(2))),
    ("a digit too many", key + "0"),
    ("no checksum", "coffer-key-1-\(digits)"),
    ("no digits", "coffer-key-1-"),
    ("no such digit", "coffer-key-1-\(digits)395897bg"),
    ("a byte order mark", "\u{FEFF}\(key)"),
    ("a leading space", " \(key)"),
    ("a trailing space", "\(key) "),
    ("a trailing space and line end", "\(key) \n"),
    ("a trailing tab", "\(key)\t"),
    ("a carriage return alone", "\(key)\r"),
    ("two carriage returns", "\(key)\r\r\n"),
    ("U+0000", "\(key)\0"),
    ("two key lines", "\(key)\n\(testKey)\n"),
    ("the same line twice", "\(key)\n\(key)\n"),
    ("something after the key", "\(key)\nsomething\n"),
    ("a space in front of a comment", " # comment\n\(key)\n"),
    ("nothing", ""),
    ("only line ends", "\n\r\n\n"),
    ("only a comment", "# coffer-key-1-"),
    ("another version", "coffer-key-2-\(digits)395897b9"),
    ("a kind that is none", "coffer-secret-1-\(digits)395897b9"),
    ("the checksum of a key over an identity", "coffer-identity-1-\(digits)395897b9"),
    ("the checksum of a key over a test key", "coffer-test-key-1-\(digits)395897b9"),
    ("the checksum of a test key over a key", "coffer-key-1-\(digits)a3abb8f3"),
  ])
  func rejectsFileContaining(_ what: String, _ file: String) throws {
    let error = try #require(refusal(file), "\(what)")
    #expect(error.code == .invalidKeyLine)
    #expect(!error.message.contains("0001020304") && !error.message.contains("395897"))
  }

  @Test func rejectsEveryFlippedBit() {
    let line = Array(Self.key.utf8)
    for bit in 0..<line.count * 8 {
      var broken = line
      broken[bit / 8] ^= 1 << (bit % 8)
      #expect(refusal(broken)?.code == .invalidKeyLine)
    }
  }

  @Test func rejectsSecretAsRecipient() {
    for line in [Self.key, Self.testKey, Self.identity] {
      #expect(code { () throws(SealingError) in try KeyLine(recipient: line) } == .invalidKeyLine)
    }
    #expect(
      code { () throws(SealingError) in try KeyLine(recipient: Self.recipient + "\n") } == .invalidKeyLine)
    #expect(code { () throws(SealingError) in try KeyLine(recipient: Self.recipient) } == nil)
  }

  @Test func rejectsRecipientOfKeyFile() throws {
    let key = try KeyLine.generate(.key)
    #expect(code { () throws(SealingError) in try key.recipient() } == .invalidKeyLine)
  }

  @Test(arguments: [KeyLine.Kind.recipient, .publisher]) func rejectsGeneratingPublicHalf(_ kind: KeyLine.Kind) {
    #expect(code { () throws(SealingError) in try KeyLine.generate(kind) } == .invalidKeyLine)
  }

  @Test func rejectsPublisherOfOtherKinds() throws {
    for kind in [KeyLine.Kind.key, .identity] {
      let line = try KeyLine.generate(kind)
      #expect(code { () throws(SealingError) in try line.publisher() } == .invalidKeyLine)
    }
    let signing = try KeyLine.generate(.signing)
    #expect(code { () throws(SealingError) in try signing.recipient() } == .invalidKeyLine)
    let publisher = try signing.publisher()
    #expect(code { () throws(SealingError) in try KeyLine(recipient: publisher) } == .invalidKeyLine)
    #expect(code { () throws(SealingError) in try KeyLine(publisher: Self.recipient) } == .invalidKeyLine)
    #expect(code { () throws(SealingError) in try KeyLine(publisher: publisher + "\n") } == .invalidKeyLine)
  }

  @Test(arguments: ["00", "01"]) func rejectsPublisherOfSmallOrder(_ first: String) throws {
    let bytes = [UInt8(first, radix: 16)!] + [UInt8](repeating: 0, count: 31)
    let line = try KeyLine.publisherLine(bytes, isTest: false)
    #expect(code { () throws(SealingError) in try KeyLine(publisher: line) } == .invalidKeyLine)
  }

  @Test func rejectsInvalidFormatPageFiles() throws {
    let invalid = try FormatVectors.load().keyLines.invalid
    #expect(invalid.count == 10)
    for broken in invalid {
      #expect(refusal(broken.file)?.code == .invalidKeyLine, "\(broken.why)")
    }
  }

  // MARK: - Reading and writing

  @Test func roundTripsFormatPageLines() throws {
    let lines = try FormatVectors.load().keyLines
    #expect(lines.valid.count == 6 && lines.validFiles.count == 3)
    for valid in lines.valid {
      let line = try KeyLine(parsing: Secret(valid.line))
      #expect(line.kind.rawValue == valid.kind && line.isTest == valid.test)
      #expect(line.secret.bytes == valid.bytes.bytes)
      #expect(try line.line().bytes == Array(valid.line.utf8))
    }
    for valid in lines.validFiles {
      #expect(try KeyLine(parsing: Secret(valid.file)).secret.bytes == valid.bytes.bytes)
    }
  }

  @Test(arguments: [
    key, "\(key)\n", "\(key)\r\n", "\n\n\(key)", "# one\n# two\r\n\r\n\(key)\n\n# three", "#\n\(key)\n#",
  ])
  func skipsCommentsAndEmptyLines(_ file: String) throws {
    let line = try KeyLine(parsing: Secret(file))
    #expect(line.kind == .key && !line.isTest && line.secret.bytes == Array(0..<32))
  }

  @Test func derivesRecipientFromIdentity() throws {
    let identity = try KeyLine.generate(.identity, isTest: true)
    let recipient = try KeyLine(recipient: identity.recipient())
    #expect(recipient.kind == .recipient && recipient.isTest)
    #expect(try recipient.recipientBytes() == X25519.publicKey(of: identity.secret))
    #expect(try recipient.recipient() == identity.recipient())
  }

  @Test func derivesPublisherFromSigningKey() throws {
    for isTest in [false, true] {
      let signing = try KeyLine.generate(.signing, isTest: isTest)
      let publisher = try KeyLine(publisher: signing.publisher())
      #expect(publisher.kind == .publisher && publisher.isTest == isTest)
      #expect(try publisher.publisherBytes() == Ed25519.publicKey(of: signing.secret))
      #expect(try publisher.publisher() == signing.publisher())
    }
  }

  @Test func generatedKeysDiffer() throws {
    let keys = try (0..<100).map { _ in try KeyLine.generate(.key).secret.bytes }
    #expect(Set(keys).count == keys.count)
  }

  // MARK: - Files

  @Test func reportsMissingFileOrFolder() throws {
    try withFolder { folder in
      #expect(code { () throws(SealingError) in try KeyLine.load(path: "\(folder)/none") } == .fileFailure)
      #expect(code { () throws(SealingError) in try KeyLine.load(path: folder) } == .fileFailure)
    }
  }

  @Test func errorIncludesKeyFilePath() throws {
    try withFolder { folder in
      let path = "\(folder)/key"
      try Data("\(Self.key)0".utf8).write(to: URL(fileURLWithPath: path))
      do throws(SealingError) {
        _ = try KeyLine.load(path: path)
        Issue.record("it was read")
      } catch {
        #expect(error.code == .invalidKeyLine && error.message.hasPrefix(path))
        #expect(!error.message.contains(Self.digits))
      }
    }
  }

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }
}
