import Coffer

/// The sample documents: the same bytes as plain.c makes, so that both sides store the same.
struct Samples {
  static let textByteCount = 1024
  private static let blockByteCount = 1 << 20

  /// Texts are cut out of one block of letters.
  let block: [UInt8]

  init() {
    let letters = Array("abcdefghijklmnopqrstuvwxyz .,\n".utf8)
    var random = SplitMix64(state: 1)
    block = (0..<Self.blockByteCount).map { _ in letters[Int(random.next() % UInt64(letters.count))] }
  }

  func textRange(_ number: Int) -> Range<Int> {
    let start = number * 7919 % (Self.blockByteCount - Self.textByteCount)
    return start..<start + Self.textByteCount
  }

  func text(_ number: Int) -> String {
    String(decoding: block[textRange(number)], as: UTF8.self)
  }

  func title(_ number: Int) -> String {
    "Document number \(number)"
  }

  /// The numbers 1 to `count`, each once, in the order that plain.c takes them in.
  static func randomOrder(_ count: Int) -> [Int] {
    var random = SplitMix64(state: 2)
    var order = Array(1...max(count, 1))
    for index in stride(from: count, to: 1, by: -1) {
      order.swapAt(index - 1, Int(random.next() % UInt64(index)))
    }
    return order
  }
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
  private static let batchCount = 256

  let samples: Samples
  let count: Int
  private var next = 1

  init(_ samples: Samples, count: Int) {
    self.samples = samples
    self.count = count
  }

  mutating func read(into batch: inout DraftBatch) throws -> Bool {
    guard next <= count else { return false }
    for number in next...min(count, next + Self.batchCount - 1) {
      let titleStart = batch.bytes.count
      batch.bytes.append(contentsOf: samples.title(number).utf8)
      let textStart = batch.bytes.count
      batch.bytes.append(contentsOf: samples.block[samples.textRange(number)])
      var draft = DraftBatch.Draft(text: textStart..<batch.bytes.count, record: number)
      draft.title = titleStart..<textStart
      batch.drafts.append(draft)
    }
    next += Self.batchCount
    return true
  }
}
