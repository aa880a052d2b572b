public import CofferDocuments
internal import CofferText

/// A sink that writes unchanged texts without separators. If the options ask for front matter, each text follows its
/// attributes.
///
/// A text that begins with U+FEFF or contains U+0000 always gets a byte order mark, because it would be read
/// differently without one. For the same reason, UTF-16 with a mark is big-endian if the first text begins with U+0000.
public struct TextSink<Output: ByteSink>: DocumentSink, Sendable {
  private var output: Output
  private var options: WritingOptions
  private var isEmpty = true

  /// Creates a sink that writes texts to `output`, in the encoding from `options`.
  public init(_ output: Output, options: WritingOptions = WritingOptions()) {
    self.output = output
    self.options = options
  }

  public mutating func begin() {}

  public mutating func write(_ document: OpenedDocument, inCollection collection: String) throws(FormatError) {
    let text = document.utf8
    let frontMatter = options.frontMatter ? try FrontMatter.bytes(for: document) : []
    // All texts use the first text's encoding.
    if isEmpty, self.options.byteOrderMark, frontMatter.isEmpty {
      self.options.encoding = self.options.encoding.behindMark(of: text)
    }
    isEmpty = false
    var options = options
    options.byteOrderMark =
      options.byteOrderMark || text.starts(with: TextEncoding.utf8.byteOrderMark)
      || options.encoding == .utf8 && text.firstOffset(of: 0, from: 0) != nil
    guard options.encoding != .utf8 || options.byteOrderMark || !frontMatter.isEmpty else {
      return try output.write(text)
    }
    var encoded = EncodedOutput(output, options: options)
    encoded.buffer += frontMatter
    try encoded.append(text) { $1.append(contentsOf: $0) }
    try encoded.finish()
  }

  public mutating func finish() {}
}
