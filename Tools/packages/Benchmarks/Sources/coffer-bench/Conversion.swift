import CofferText
import FoundationEssentials

/// Text conversion as convert.c does it: a file of UTF-16LE in memory to UTF-8, piece by piece.
struct Conversion {
  private static let pieceSize = 64 << 10

  let text: [UInt8]

  init(file path: String) throws {
    text = [UInt8](try Data(contentsOf: URL(filePath: path)))
  }

  func run(rounds: Int) throws {
    var output = [UInt8](repeating: 0, count: 4 * Self.pieceSize)
    var written = 0
    for _ in 0..<rounds {
      var decoder = TextDecoder(.fixed(.utf16LittleEndian))
      var start = 0
      while start < text.count {
        let end = min(start + Self.pieceSize, text.count)
        let step = try text.withUnsafeBytes { text in
          try output.withUnsafeMutableBytes {
            try decoder.decode(
              UnsafeRawBufferPointer(rebasing: text[start..<end]), into: $0, isFinal: end == text.count)
          }
        }
        start += step.consumed
        written += step.written
      }
    }
    keep(written)
  }
}
