import CofferSealing
import Testing

/// Bytes that are given in place of a passphrase or key file.
@Suite struct SecretFormTests {
  private static let digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

  /// One line of each kind.
  static let lines: [(SecretForm.Line, String)] = [
    (.key, "coffer-key-1-\(digits)395897b9"), (.key, "coffer-test-key-1-\(digits)a3abb8f3"),
    (.identity, "coffer-identity-1-\(digits)961f412e"), (.identity, "coffer-test-identity-1-\(digits)00000000"),
    (.recipient, "coffer-recipient-1-\(digits)ba5c14d5"), (.recipient, "coffer-test-recipient-1-\(digits)00000000"),
    (.key, "coffer-key-2-\(digits)"), (.pin, "coffer-pin-3-\(digits)\(digits)"),
    (.anchor, "coffer3:000102030405060708090a0b0c0d0e0f:1:1:7:\(digits)"),
    (.ageIdentity, "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"),
    (.ageRecipient, "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"),
    (.signing, "coffer-signing-1-\(digits)00000000"), (.signing, "coffer-test-signing-1-\(digits)00000000"),
    (.publisher, "coffer-publisher-1-\(digits)00000000"), (.publisher, "coffer-test-publisher-1-\(digits)00000000"),
  ]

  /// Ways in which a line gets into a file, as bytes.
  static let wrappings: [(String, @Sendable (String) -> [UInt8])] = [
    ("alone", { Array($0.utf8) }),
    ("LF", { Array("\($0)\n".utf8) }),
    ("CRLF", { Array("\($0)\r\n".utf8) }),
    ("byte order mark", { Array("\u{FEFF}\($0)\n".utf8) }),
    ("blank lines", { Array("\n\r\n \n\($0)\n\n".utf8) }),
    ("comments", { Array("# made today\n# \($0)\n\($0)\n".utf8) }),
    ("quotes", { Array("\"\($0)\"\n".utf8) }),
    ("typographic quotes", { Array("\u{201C}\($0)\u{201D}".utf8) }),
    ("spaces", { Array("   \($0)  \n".utf8) }),
    ("a tab", { Array("\t\($0)".utf8) }),
    ("a variable", { Array("export KEY=\($0)\n".utf8) }),
    ("JSON", { Array("{\"key\":\"\($0)\",\"n\":1}".utf8) }),
    ("a letter", { Array("Liebe Grüße, 世界!\nHere it is: \($0). Bye\n".utf8) }),
    ("upper case", { Array($0.uppercased().utf8) }),
    ("invalid UTF-8", { [0xFF, 0xC3] + Array($0.utf8) + [0x80] }),
    ("UTF-16, little end first", { utf16($0, isBigEndian: false, isMarked: false) }),
    ("UTF-16, big end first", { utf16($0, isBigEndian: true, isMarked: false) }),
    ("UTF-16 with a mark, little end first", { utf16($0, isBigEndian: false, isMarked: true) }),
    ("UTF-16 with a mark, big end first", { utf16($0, isBigEndian: true, isMarked: true) }),
    ("UTF-16 at an odd place", { [0x20] + utf16($0, isBigEndian: false, isMarked: false) }),
    ("UTF-32", { $0.unicodeScalars.flatMap { [UInt8($0.value), 0, 0, 0] } }),
    ("UTF-32 with a mark", { [0, 0, 0xFE, 0xFF] + $0.unicodeScalars.flatMap { [0, 0, 0, UInt8($0.value)] } }),
  ]

  private static func utf16(_ text: String, isBigEndian: Bool, isMarked: Bool) -> [UInt8] {
    ((isMarked ? "\u{FEFF}" : "") + text + "\r\n").utf16.flatMap { unit in
      let (low, high) = (UInt8(unit & 0xFF), UInt8(unit >> 8))
      return isBigEndian ? [high, low] : [low, high]
    }
  }

  @Test(arguments: wrappings.indices)
  func findsEveryLine(_ number: Int) {
    let (name, wrapped) = Self.wrappings[number]
    for (line, text) in Self.lines {
      let form = SecretForm(of: Secret(wrapped(text)))
      #expect(form.line == line, "\(line), \(name)")
      #expect(code { () throws(SealingError) in try Passphrase.normalized(Secret(wrapped(text))) } == .misplacedSecret)
    }
  }

  @Test func findsLineWithTypographicDashes() {
    let key = Self.lines[0].1
    for dash in ["\u{2010}", "\u{2011}", "\u{2013}", "\u{2014}", "\u{2212}", "\u{FF0D}", "-\n", "\u{AD}-", "-\u{200B}"]
    {
      #expect(SecretForm(of: Secret(key.replacing("-", with: dash))).line == .key, "\(dash.unicodeScalars)")
    }
  }

  @Test(arguments: [
    "correct horse battery staple", "coffer", "coffer-", "coffer-key", "my coffer-keys are safe", "coffer-key-one-",
    "coffer-test-", "age1", "language1" + String(repeating: "x", count: 60), "age of reason", "# a comment",
    "-----", "000102030405060708090a0b0c0d0e0f", "größte Wörter, 世界 🐎", "coffer3: short", "\u{1}",
  ])
  func leavesPassphrasesAlone(_ text: String) throws {
    let form = SecretForm(of: Secret(text))
    #expect(form.line == nil && form.encoding == .plain && form.passphraseFault == nil)
    #expect(try Passphrase.normalized(Secret(text)).count > 0)
  }

  @Test func namesEncodingOfPassphrase() {
    let faults: [([UInt8], String)] = [
      (Array("\u{FEFF}words".utf8), "begins with a byte order mark"),
      ([0xFF, 0xFE] + Self.utf16("words", isBigEndian: false, isMarked: false), "is saved as UTF-16"),
      (Self.utf16("words", isBigEndian: false, isMarked: false), "is saved as UTF-16"),
      (Self.utf16("words", isBigEndian: true, isMarked: false), "is saved as UTF-16"),
      ("words".unicodeScalars.flatMap { [UInt8($0.value), 0, 0, 0] }, "is saved as UTF-32"),
    ]
    for (bytes, fault) in faults {
      do throws(SealingError) {
        _ = try Passphrase.normalized(Secret(bytes))
        Issue.record("it was taken: \(fault)")
      } catch {
        #expect(error.code == .misplacedSecret && error.message.contains(fault), "\(error)")
      }
    }
  }

  @Test func namesFaultOfKeyFile() {
    let key = Self.lines[0].1
    let faults: [([UInt8], String)] = [
      (Array("\u{FEFF}\(key)\n".utf8), "begins with a byte order mark"),
      (Self.utf16(key, isBigEndian: false, isMarked: true), "is saved as UTF-16"),
      (Self.utf16(key, isBigEndian: true, isMarked: false), "is saved as UTF-16"),
      (Array("# c\n\n\"\(key)\"\n".utf8), "line 3 holds a key"), (Array(" \(key)".utf8), "line 1 holds a key"),
      (Array("\(key) \n".utf8), "line 1: something follows"), (Array("\(key)\"".utf8), "line 1: something follows"),
      (Array(key.uppercased().utf8), "line 1 holds a key"), (Array("words".utf8), "line 1 is no key"),
      (Array(Self.lines[7].1.utf8), "line 1 holds a pin"), (Array(Self.lines[9].1.utf8), "an identity of age"),
    ]
    for (bytes, fault) in faults {
      do throws(SealingError) {
        _ = try KeyLine(parsing: Secret(bytes))
        Issue.record("it was read: \(fault)")
      } catch {
        #expect(error.code == .invalidKeyLine && error.message.contains(fault), "\(error)")
        #expect(!error.message.contains("0001020304") && !error.message.contains("GFPYYSJZ"))
      }
    }
  }
}
