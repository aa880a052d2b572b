internal import CofferFormats
internal import CofferTerminal

/// Writes text to a terminal, with control characters escaped.
struct TerminalSink: ByteSink {
  private var terminal: FileByteSink
  /// The bytes of an incomplete character at the end of the last piece.
  private var incomplete: [UInt8] = []
  private let isJSON: Bool

  init(_ terminal: FileByteSink, isJSON: Bool) {
    self.terminal = terminal
    self.isJSON = isJSON
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    var text = incomplete + bytes
    incomplete = []
    // Keep an incomplete character for the next piece. In UTF-8, the first byte determines the length.
    for back in 1...3 where back <= text.count {
      let byte = text[text.count - back]
      let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : byte < 0x80 ? 1 : 0
      if length == 0 { continue }
      if length > back {
        incomplete = Array(text.suffix(back))
        text.removeLast(back)
      }
      break
    }
    var safe = escapingControls(String(decoding: text, as: UTF8.self), keeping: ["\n", "\t"], isJSON: isJSON)
    let result: Result<Void, FormatError> = safe.withUTF8 { utf8 in
      do throws(FormatError) {
        return .success(try terminal.write(UnsafeRawBufferPointer(utf8)))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }
}
