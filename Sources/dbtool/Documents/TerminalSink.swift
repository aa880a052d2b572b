internal import CofferFormats

/// Text on its way to a terminal: control characters that could steer it are shown escaped.
struct TerminalSink: ByteSink {
  private var terminal: FileByteSink
  /// The beginning of a character whose rest has not come yet.
  private var cut: [UInt8] = []
  private let isJSON: Bool

  init(_ terminal: FileByteSink, isJSON: Bool) {
    self.terminal = terminal
    self.isJSON = isJSON
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    var text = cut + bytes
    cut = []
    // UTF-8 says in a character's first byte how long it is: hold back one that is not whole.
    for back in 1...3 where back <= text.count {
      let byte = text[text.count - back]
      let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : byte < 0x80 ? 1 : 0
      if length == 0 { continue }
      if length > back {
        cut = Array(text.suffix(back))
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
