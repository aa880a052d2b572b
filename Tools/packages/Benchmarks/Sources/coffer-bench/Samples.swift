import Coffer
import CofferFormats

/// The sample documents: the same bytes as in works.c, so that both sides store the same.
struct Samples {
  let textByteCount: Int
  /// Collections that take documents in turn.
  let collectionCount: Int
  /// Texts are cut out of one block of letters.
  let block: [UInt8]

  init(textByteCount: Int, collectionCount: Int) {
    self.textByteCount = textByteCount
    self.collectionCount = collectionCount
    let letters = Array("abcdefghijklmnopqrstuvwxyz .,\n".utf8)
    var random = SplitMix64(state: 1)
    block = (0..<max(1 << 20, 2 * textByteCount)).map { _ in letters[Int(random.next() % UInt64(letters.count))] }
  }

  func textRange(_ number: Int) -> Range<Int> {
    let start = number * 7919 % (block.count - textByteCount)
    return start..<start + textByteCount
  }

  func text(_ number: Int) -> String {
    String(decoding: block[textRange(number)], as: UTF8.self)
  }

  func title(_ number: Int) -> String {
    "Document number \(number)"
  }

  /// Name of the collection that a document goes into.
  func collection(_ number: Int) -> String {
    collectionCount == 1 ? "documents" : "collection \(number % collectionCount + 1)"
  }

  /// - Parameter text: The number of the text, or `nil` for the document's own number.
  func document(_ number: Int, text: Int? = nil) -> Document {
    Document(title: title(number), text: self.text(text ?? number))
  }

  func note(_ number: Int, text: Int) -> Note {
    Note(title: title(number), body: self.text(text))
  }

  func attributes(_ number: Int) -> Attributes {
    ["author": .string("author \(number % 100)"), "stars": .number(Double(number % 5)), "kept": .bool(number % 2 == 0)]
  }

  /// The numbers 1 to `count`, each once, in the same random order as in works.c.
  static func randomOrder(_ count: Int) -> [Int] {
    var random = SplitMix64(state: 2)
    var order = Array(1...max(count, 1))
    for index in stride(from: count, to: 1, by: -1) {
      order.swapAt(index - 1, Int(random.next() % UInt64(index)))
    }
    return order
  }
}

struct Note: Codable, Sendable {
  var title: String
  var body: String
}

/// A note that knows its number, which its JSON does not hold.
struct NumberedNote: Encodable, Sendable {
  let number: Int
  private let note: Note

  init(_ samples: Samples, _ number: Int) {
    self.number = number
    note = samples.note(number, text: number)
  }

  func encode(to encoder: any Encoder) throws { try note.encode(to: encoder) }
}

struct SplitMix64 {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// Yields sample documents in bulk, as a file being imported would.
struct SampleSource: DraftSource {
  /// About 256 KiB of text, as a file being imported is read.
  private var batchCount: Int { min(max((256 << 10) / samples.textByteCount, 1), 512) }

  let samples: Samples
  let count: Int
  private var next = 1

  init(_ samples: Samples, count: Int) {
    self.samples = samples
    self.count = count
  }

  mutating func read(into batch: inout DraftBatch) throws -> Bool {
    guard next <= count else { return false }
    for number in next...min(count, next + batchCount - 1) {
      let titleStart = batch.bytes.count
      batch.bytes.append(contentsOf: samples.title(number).utf8)
      let textStart = batch.bytes.count
      batch.bytes.append(contentsOf: samples.block[samples.textRange(number)])
      var draft = DraftBatch.Draft(text: textStart..<batch.bytes.count, record: number)
      draft.title = titleStart..<textStart
      if samples.collectionCount > 1 {
        let start = batch.bytes.count
        batch.bytes.append(contentsOf: samples.collection(number).utf8)
        draft.collection = start..<batch.bytes.count
      }
      batch.drafts.append(draft)
    }
    next += batchCount
    return true
  }
}
