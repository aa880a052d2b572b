internal import CofferFormats
internal import CofferPlatform
internal import CofferText

/// Converts a text from a descriptor to another encoding, in chunks and constant memory.
struct Conversion {
  private static let chunk = 256 * 1024

  private var decoder: TextDecoder
  private var encoding: TextEncoding
  private let addsMark: Bool
  private let onError: CodingErrorMode
  private var encoder: TextEncoder?
  /// The input's first bytes.
  private(set) var head: [UInt8] = []

  init(decoder: TextDecoder, encoding: TextEncoding, addsMark: Bool, onError: CodingErrorMode) {
    self.decoder = decoder
    self.encoding = encoding
    self.addsMark = addsMark
    self.onError = onError
  }

  /// - Parameter name: The input's name, for errors.
  /// - Throws: `TextCodingError` if bytes aren't text or can't be encoded.
  mutating func run(from source: Int32, named name: String, to output: StandardOutput) throws {
    var raw = [UInt8](repeating: 0, count: Self.chunk)
    // Allocate enough for a whole chunk, because UTF-8 takes at most 3 bytes for each byte of a code page.
    var text = [UInt8](repeating: 0, count: 3 * Self.chunk)
    var isFinal = false
    while !isFinal {
      let count = try Self.read(source, named: name, into: &raw)
      isFinal = count == 0
      if head.count < ForeignContent.headCount {
        head += raw[..<min(count, ForeignContent.headCount - head.count)]
      }
      var consumed = 0
      repeat {
        let step = try raw.withUnsafeBytes { input in
          try text.withUnsafeMutableBytes { room in
            try decoder.decode(
              UnsafeRawBufferPointer(rebasing: input[consumed..<count]), into: room, isFinal: isFinal)
          }
        }
        consumed += step.consumed
        try text.withUnsafeBytes {
          try write(UnsafeRawBufferPointer(rebasing: $0[..<step.written]), isFinal: isFinal, to: output)
        }
      } while consumed < count
    }
    try output.flush()
  }

  private mutating func write(_ text: UnsafeRawBufferPointer, isFinal: Bool, to output: StandardOutput) throws {
    if encoder == nil {
      // Wait for the input's first character before writing, because it determines the mark.
      guard !text.isEmpty || isFinal else { return }
      if addsMark { encoding = encoding.behindMark(of: text) }
      encoder = TextEncoder(encoding, onError: onError)
      if addsMark {
        try encoding.byteOrderMark.withUnsafeBytes { try output.write($0) }
      }
    }
    // The decoder's output is already UTF-8.
    if encoding == .utf8 { return try output.write(text) }
    var encoded = [UInt8](repeating: 0, count: Self.chunk)
    var done = 0
    while done < text.count {
      let rest = UnsafeRawBufferPointer(rebasing: text[done...])
      let step = try encoded.withUnsafeMutableBytes { room in
        try encoder!.encode(rest, into: room, isFinal: isFinal)
      }
      done += step.consumed
      try encoded.withUnsafeBytes {
        try output.write(UnsafeRawBufferPointer(rebasing: $0[..<step.written]))
      }
    }
  }

  private static func read(_ source: Int32, named name: String, into buffer: inout [UInt8]) throws -> Int {
    while true {
      Interrupt.waitForInput(source)
      try Interrupt.check()
      let count = buffer.withUnsafeMutableBytes { CofferPlatform.read(source, $0.baseAddress, $0.count) }
      if count >= 0 { return count }
      guard errno == EINTR else { throw Failure.system(errno, name) }
    }
  }
}
