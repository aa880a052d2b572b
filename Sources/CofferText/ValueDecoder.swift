/// A decoder for separate short texts, such as a database's values.
///
/// It doesn't look for a byte order mark, so U+FEFF is text.
package final class ValueDecoder {
  package let encoding: TextEncoding
  private let errorMode: CodingErrorMode
  private let template: TextDecoder
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)

  package init(_ encoding: TextEncoding, onError errorMode: CodingErrorMode = .fail) {
    self.encoding = encoding
    self.errorMode = errorMode
    var decoder = TextDecoder(.fixed(encoding), onError: errorMode)
    decoder.encoding = encoding
    template = decoder
  }

  deinit {
    memory.deallocate()
  }

  /// Returns the text in UTF-8, which is the input itself if it's already UTF-8, or otherwise memory that's valid until
  /// the next call.
  ///
  /// - Throws: `invalidBytes` with the offset in this text, unless errors are replaced.
  package func utf8(from input: UnsafeRawBufferPointer) throws(TextCodingError) -> UnsafeRawBufferPointer {
    if encoding == .utf8, UTF8Validity.isValid(input) { return input }
    // Allocate three bytes for each replaced byte or UTF-16 unit.
    let room = encoding == .utf8 ? 3 * input.count : 3 * (input.count / 2 + 1)
    if memory.count < room + 16 {
      memory.deallocate()
      memory = .allocate(byteCount: 2 * room + 16, alignment: 16)
    } else if memory.count > 8 << 20, room < 1 << 20 {
      memory.deallocate()
      memory = .allocate(byteCount: room + 16, alignment: 16)
    }
    var decoder = template
    let (consumed, written) = try decoder.decode(input, into: memory, isFinal: true)
    precondition(consumed == input.count, "internal error: a text is longer than the room made for it")
    return UnsafeRawBufferPointer(rebasing: memory[..<written])
  }
}
