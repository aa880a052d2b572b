import CofferRecords
import CofferSealing
import Testing

@Suite struct SignedNoteTests {
  private let secret = secret(9)
  private let text = "one\ntwo\n"

  private static func secret(_ byte: UInt8) -> Secret {
    [UInt8](repeating: byte, count: 32).withUnsafeBytes { Secret(copying: $0) }
  }

  private func note(_ name: String = "me") throws -> SignedNote {
    try SignedNote(signing: text, as: name, with: secret)
  }

  /// The example of the Go package `note`, which C2SP's specification describes.
  @Test func readsPublishedNote() throws {
    let published = """
      If you think cryptography is the answer to your problem,
      then you don't know what your problem is.

      \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=

      """
    let key: [UInt8] = [
      0x1A, 0x5C, 0xD9, 0x07, 0x14, 0x3C, 0x38, 0x4C, 0x41, 0xE8, 0x30, 0xC5, 0xBC, 0xE1, 0x2A, 0xA8,
      0x81, 0x7E, 0xC5, 0x64, 0x9A, 0xAA, 0xBF, 0x2C, 0x31, 0x38, 0x8B, 0x35, 0xB2, 0xD7, 0x44, 0xD6,
    ]
    let note = try #require(SignedNote(published))
    #expect(note.description == published)
    #expect(try note.isSigned(as: "PeterNeumann", by: key))
    #expect(
      try SignedNote.verifierKey("PeterNeumann", key)
        == "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
  }

  @Test func roundTripsNote() throws {
    let key = try Ed25519.publicKey(of: secret)
    let note = try self.note()
    let read = try #require(SignedNote(note.description))
    #expect(read == note && read.text == text)
    #expect(try read.isSigned(as: "me", by: key))
    #expect(try !read.isSigned(as: "you", by: key))
    #expect(try !read.isSigned(as: "me", by: Ed25519.publicKey(of: Self.secret(8))))
  }

  @Test func ignoresOtherSignatures() throws {
    let key = try Ed25519.publicKey(of: secret)
    let other = try SignedNote(signing: text, as: "witness", with: Self.secret(8))
    let both = try other.description + note().description.split(separator: "\n").last! + "\n"
    let read = try #require(SignedNote(both))
    #expect(read.signatures.count == 2)
    #expect(try read.isSigned(as: "me", by: key))
  }

  @Test func rejectsChangedText() throws {
    let key = try Ed25519.publicKey(of: secret)
    let changed = try note().description.replacing("two", with: "2", maxReplacements: 1)
    let read = try #require(SignedNote(changed))
    #expect(try !read.isSigned(as: "me", by: key))
  }

  @Test(arguments: [
    "", "\n", "\n\n", "text\n", "text\n\n", "text\n\n\u{2014} me\n", "text\n\n\u{2014} me AAAA\n",
    "text\n\n\u{2014} me AAAAAAA=", "text\n\n- me AAAAAAA=\n", "text\n\n\u{2014} m+e AAAAAAA=\n",
    "text\n\n\u{2014}  AAAAAAA=\n", "text\n\n\u{2014} me AAAAAAA= \n", "text\n\n\u{2014} me AAAAAAB=\n",
    "text\n\n\u{2014} me AAAAAAA=\nmore\n", "te\u{1}xt\n\n\u{2014} me AAAAAAA=\n", "te\txt\n\n\u{2014} me AAAAAAA=\n",
  ])
  func rejectsOtherForms(_ text: String) {
    #expect(SignedNote(text) == nil)
  }

  @Test func rejectsTooManySignatures() throws {
    let line = try self.note().description.split(separator: "\n").last! + "\n"
    let most = SignedNote.maximumSignatureCount
    #expect(SignedNote("a\n\n" + String(repeating: String(line), count: most)) != nil)
    #expect(SignedNote("a\n\n" + String(repeating: String(line), count: most + 1)) == nil)
  }

  @Test func rejectsLongNote() throws {
    let rest = try note().description.utf8.count - text.utf8.count
    func long(_ count: Int) throws -> String {
      let text = String(repeating: "a", count: count - rest - 1) + "\n"
      return try SignedNote(signing: text, as: "me", with: secret).description
    }
    #expect(SignedNote(try long(SignedNote.maximumByteCount)) != nil)
    #expect(SignedNote(try long(SignedNote.maximumByteCount + 1)) == nil)
  }
}
