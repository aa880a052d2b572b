import CofferTestSupport
import CofferText
import Foundation
import Testing

/// Compares the decoded UTF-16 corpus with its manifest.
@Suite struct CorpusTests {
  struct Manifest: Decodable {
    var files: [File]

    struct File: Decodable {
      var file: String
      var asUtf16le: Reading?
      var asUtf16be: Reading?
    }

    struct Reading: Decodable {
      var wellFormed: Bool
      var firstErrorByteOffset: Int?
      var utf8Sha256: String?
      var lossyUtf8Sha256: String
      var lossyReplacements: Int
    }
  }

  @Test(.corpora("utf16/manifest.json"))
  func decodesUTF16LikeManifest() throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let manifest = try decoder.decode(Manifest.self, from: Data(Corpora.bytes("utf16/manifest.json")))
    #expect(manifest.files.count == 30)
    for file in manifest.files {
      let bytes = try Corpora.bytes("utf16/\(file.file)")
      for (encoding, reading) in [
        (TextEncoding.utf16LittleEndian, file.asUtf16le), (.utf16BigEndian, file.asUtf16be),
      ] {
        guard let reading else { continue }
        for chunk in [1, 2, 3, 7, 4096, .max] where bytes.count < 10_000 || chunk > 4000 {
          let strict = decode(bytes, .fixed(encoding), chunks: [chunk])
          #expect((strict.bytes != nil) == reading.wellFormed, "\(file.file)")
          #expect(strict.errorOffset == reading.firstErrorByteOffset, "\(file.file)")
          #expect(strict.bytes.map(sha256) == reading.utf8Sha256, "\(file.file)")
          let lossy = decode(bytes, .fixed(encoding), onError: .replace, chunks: [chunk])
          #expect(lossy.bytes.map(sha256) == reading.lossyUtf8Sha256, "\(file.file)")
          #expect(lossy.replacements?.count == reading.lossyReplacements, "\(file.file)")
        }
      }
    }
  }

  @Test(.corpora("libxml2-utf16/test"))
  func decodesBothByteOrdersEqually() throws {
    let little = try Corpora.bytes("libxml2-utf16/test/text-4-byte-UTF-16-LE.xml")
    let big = try Corpora.bytes("libxml2-utf16/test/text-4-byte-UTF-16-BE.xml")
    let text = decode(little, .automatic).string
    #expect(text?.contains("\u{10000}") == true || text?.unicodeScalars.contains { $0.value > 0xFFFF } == true)
    // The files differ only in the byte order in their first line.
    let other = decode(big, .automatic).string
    #expect(text?.replacing("UTF-16LE", with: "UTF-16BE") == other?.replacing("UTF-16LE", with: "UTF-16BE"))
  }

  @Test func matchesStandardDigest() {
    #expect(sha256([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      sha256([UInt8]("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8))
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  }
}
