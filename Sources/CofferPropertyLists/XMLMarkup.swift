internal import CofferDocuments

/// A parser for the XML in property lists: tags, text, references and comments.
///
/// All parsed XML must be well-formed according to XML 1.0.
struct XMLMarkup {
  /// The maximum nesting of skipped elements, which limits their memory.
  private static let skippedDepth = 1 << 20

  private let text: UnsafeRawBufferPointer
  var position: Int

  struct Tag {
    let name: XMLName
    /// Whether the tag is also its own end, as in `<name/>`.
    let isEmpty: Bool
  }

  init(_ text: UnsafeRawBufferPointer, from start: Int) {
    self.text = text
    position = start
  }

  static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }

  func fault(_ reason: String, at place: Int? = nil) -> PropertyListFault {
    let place = place ?? position
    return PropertyListFault(
      position: place, reason: place < text.count ? reason : "\(reason): the property list ends here")
  }

  // MARK: Tags

  var isAtEndTag: Bool { begins("</") }

  mutating func readStartTag() throws(PropertyListFault) -> Tag {
    guard take("<") else { throw fault("an element is missing") }
    let name = try readName()
    try skipAttributes()
    let isEmpty = take("/")
    guard take(">") else { throw fault("a tag that is not closed") }
    return Tag(name: name, isEmpty: isEmpty)
  }

  mutating func readEndTag(_ name: XMLName) throws(PropertyListFault) {
    let place = position
    guard take("</") else { throw fault("an end tag is missing") }
    guard try readName() == name else { throw fault("an end tag of another element than the one open", at: place) }
    skipSpace()
    guard take(">") else { throw fault("a tag that is not closed") }
  }

  /// Skips attributes, which must be well-formed but have no meaning in a property list.
  private mutating func skipAttributes() throws(PropertyListFault) {
    while true {
      let before = position
      skipSpace()
      guard let byte = next, byte != UInt8(ascii: ">"), byte != UInt8(ascii: "/"), byte != UInt8(ascii: "?") else {
        return
      }
      guard position > before else { throw fault("a space is missing in a tag") }
      _ = try readName()
      skipSpace()
      guard take("=") else { throw fault("an attribute without a value") }
      skipSpace()
      let quote = next
      guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
        throw fault("an attribute without a value")
      }
      position += 1
      var ignored: [UInt8] = []
      while next != quote {
        guard let byte = next, byte != UInt8(ascii: "<") else { throw fault("an attribute that is not closed") }
        if byte == UInt8(ascii: "&") { try readReference(into: &ignored) } else { position += 1 }
      }
      position += 1
    }
  }

  private mutating func readName() throws(PropertyListFault) -> XMLName {
    let begin = position
    while let byte = next, XMLName.mayHold(byte) { position += 1 }
    let name = UnsafeRawBufferPointer(rebasing: text[begin..<position])
    guard let first = name.first, XMLName.mayBegin(with: first) else {
      throw fault("a name is missing", at: begin)
    }
    return XMLName(name)
  }

  // MARK: Text

  /// Appends an element's text up to its end tag, and skips the end tag.
  mutating func readText(of tag: Tag, into output: inout [UInt8]) throws(PropertyListFault) {
    while true {
      try readRun(into: &output)
      guard let byte = next else { throw fault("an element that is not closed") }
      if byte == UInt8(ascii: "&") {
        try readReference(into: &output)
      } else if begins("</") {
        return try readEndTag(tag.name)
      } else if take("<![CDATA[") {
        try readCDATA(into: &output)
      } else if begins("<!--") || begins("<?") {
        try skipCommentOrInstruction()
      } else {
        throw fault("an element inside the text of another")
      }
    }
  }

  /// Skips the rest of an open element, including its nested elements and end tag.
  mutating func skipContent(of name: XMLName) throws(PropertyListFault) {
    var open = [name]
    var ignored: [UInt8] = []
    while let innermost = open.last {
      ignored.removeAll(keepingCapacity: true)
      try readRun(into: &ignored)
      guard let byte = next else { throw fault("an element is missing") }
      if byte == UInt8(ascii: "&") {
        try readReference(into: &ignored)
      } else if isAtEndTag {
        try readEndTag(innermost)
        open.removeLast()
      } else if take("<![CDATA[") {
        try readCDATA(into: &ignored)
      } else if begins("<!--") || begins("<?") {
        try skipCommentOrInstruction()
      } else {
        let place = position
        let tag = try readStartTag()
        if !tag.isEmpty { open.append(tag.name) }
        guard open.count <= Self.skippedDepth else { throw fault(PropertyListLimits.tooDeep, at: place) }
      }
    }
  }

  /// Appends text up to the next `<` or `&`.
  private mutating func readRun(into output: inout [UInt8]) throws(PropertyListFault) {
    var runStart = position
    var offset = position
    loop: while offset < text.count {
      switch text[offset] {
      case UInt8(ascii: "<"), UInt8(ascii: "&"):
        break loop
      case UInt8(ascii: "\r"):
        append(runStart..<offset, to: &output)
        runStart = skipReturn(at: offset, into: &output)
        offset = runStart
      case UInt8(ascii: "]") where text[offset...].starts(with: "]]>".utf8):
        throw fault("']]>' in text must be written with a reference", at: offset)
      case let byte where byte < 0x20 && byte != UInt8(ascii: "\t") && byte != UInt8(ascii: "\n") || byte == 0xEF:
        guard !isForbidden(at: offset) else { throw fault("a character that XML does not allow", at: offset) }
        offset += 1
      default:
        offset += 1
      }
    }
    append(runStart..<offset, to: &output)
    position = offset
  }

  private mutating func readCDATA(into output: inout [UInt8]) throws(PropertyListFault) {
    let begin = position
    var runStart = position
    while position < text.count {
      if text[position] == UInt8(ascii: "]"), begins("]]>") {
        append(runStart..<position, to: &output)
        position += 3
        return
      }
      if text[position] == UInt8(ascii: "\r") {
        append(runStart..<position, to: &output)
        runStart = skipReturn(at: position, into: &output)
        position = runStart
        continue
      }
      guard !isForbidden(at: position) else { throw fault("a character that XML does not allow") }
      position += 1
    }
    throw fault("a CDATA section that is not closed", at: begin)
  }

  /// Reads any line ending as LF.
  private func skipReturn(at offset: Int, into output: inout [UInt8]) -> Int {
    output.append(UInt8(ascii: "\n"))
    return offset + 1 < text.count && text[offset + 1] == UInt8(ascii: "\n") ? offset + 2 : offset + 1
  }

  private func append(_ range: Range<Int>, to output: inout [UInt8]) {
    output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[range]))
  }

  /// Returns whether a character is a control character, U+FFFE or U+FFFF.
  private func isForbidden(at offset: Int) -> Bool {
    let byte = text[offset]
    if byte < 0x20 { return !Self.isSpace(byte) }
    return byte == 0xEF && offset + 2 < text.count && text[offset + 1] == 0xBF && text[offset + 2] >= 0xBE
  }

  /// Appends the character for a reference `&…;`.
  private mutating func readReference(into output: inout [UInt8]) throws(PropertyListFault) {
    let place = position
    position += 1
    if take("#") {
      let radix: UInt32 = take("x") ? 16 : 10
      var scalar: UInt32 = 0
      let digits = position
      while let byte = next, let digit = Hexadecimal.value(of: byte), UInt32(digit) < radix {
        scalar = min(scalar * radix + UInt32(digit), 0x11_0000)
        position += 1
      }
      guard position > digits, take(";") else { throw fault("a character reference that is not closed", at: place) }
      guard Self.isCharacter(scalar) else {
        throw fault("a reference to a character that XML does not allow", at: place)
      }
      UTF8Bytes.append(scalar, to: &output)
    } else if take("amp;") {
      output.append(UInt8(ascii: "&"))
    } else if take("lt;") {
      output.append(UInt8(ascii: "<"))
    } else if take("gt;") {
      output.append(UInt8(ascii: ">"))
    } else if take("quot;") {
      output.append(UInt8(ascii: "\""))
    } else if take("apos;") {
      output.append(UInt8(ascii: "'"))
    } else {
      throw fault("a reference to an entity that XML does not have itself", at: place)
    }
  }

  private static func isCharacter(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x09, 0x0A, 0x0D, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
    default: false
    }
  }

  // MARK: Around the elements

  /// Skips the declaration, the document type and the property list's opening tag.
  mutating func readProlog() throws(PropertyListFault) {
    if begins("<?xml"), position + 5 < text.count, Self.isSpace(text[position + 5]) {
      position += 5
      try skipAttributes()
      guard take("?>") else { throw fault("an XML declaration that is not closed") }
    }
    try skipBetweenElements()
    if begins("<!DOCTYPE") {
      try readDocumentType()
      try skipBetweenElements()
    }
    let place = position
    guard begins("<"), !isAtEndTag, case let tag = try readStartTag(), tag.name == "plist" else {
      throw fault("neither an XML nor a binary property list: <plist> is missing", at: place)
    }
    guard !tag.isEmpty else { throw fault("a property list without a value", at: place) }
  }

  mutating func readEpilog() throws(PropertyListFault) {
    try skipBetweenElements()
    guard isAtEndTag else { throw fault("a property list with more than one value") }
    try readEndTag("plist")
    try skipBetweenElements()
    guard position == text.count else { throw fault("text behind the property list") }
  }

  /// Accepts only Apple's document type for property lists, without declarations, so nothing can be expanded.
  private mutating func readDocumentType() throws(PropertyListFault) {
    let place = position
    position += "<!DOCTYPE".utf8.count
    skipSpace()
    guard try readName() == "plist" else { throw fault("a document type other than plist", at: place) }
    skipSpace()
    if take("PUBLIC") {
      let name = try readLiteral()
      guard name.starts(with: "-//Apple".utf8), name.hasSuffix("//DTD PLIST 1.0//EN") else {
        throw fault("a document type that is not Apple's", at: place)
      }
      _ = try readLiteral()
    } else if take("SYSTEM") {
      let name = try readLiteral()
      guard name.hasSuffix("/PropertyList-1.0.dtd") || name.hasSuffix("/PropertyList.dtd") else {
        throw fault("a document type that is not Apple's", at: place)
      }
    }
    skipSpace()
    if next == UInt8(ascii: "[") { throw fault("a document type with internal declarations, which are not read") }
    guard take(">") else { throw fault("a document type that is not closed") }
  }

  private mutating func readLiteral() throws(PropertyListFault) -> UnsafeRawBufferPointer {
    skipSpace()
    let quote = next
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw fault("a quoted name is missing") }
    let begin = position + 1
    guard let end = text[begin...].firstIndex(of: quote!) else { throw fault("a quote that is not closed") }
    position = end + 1
    return UnsafeRawBufferPointer(rebasing: text[begin..<end])
  }

  /// Skips whitespace, comments and processing instructions.
  mutating func skipBetweenElements() throws(PropertyListFault) {
    while true {
      skipSpace()
      guard begins("<!--") || begins("<?") else { break }
      try skipCommentOrInstruction()
    }
    if let next, next != UInt8(ascii: "<") { throw fault("text between elements") }
  }

  private mutating func skipCommentOrInstruction() throws(PropertyListFault) {
    let place = position
    if take("<!--") {
      while position < text.count {
        guard let dash = text[position...].firstIndex(of: UInt8(ascii: "-")) else { break }
        position = dash
        if begins("--") {
          guard take("-->") else { throw fault("'--' inside a comment") }
          return
        }
        position += 1
      }
      throw fault("a comment that is not closed", at: place)
    }
    position += 2
    let name = try readName()
    guard name != "xml" else { throw fault("an XML declaration that is not at the beginning", at: place) }
    while let mark = text[position...].firstIndex(of: UInt8(ascii: "?")) {
      position = mark
      if take("?>") { return }
      position += 1
    }
    throw fault("a processing instruction that is not closed", at: place)
  }

  // MARK: Bytes

  private var next: UInt8? { position < text.count ? text[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, Self.isSpace(byte) { position += 1 }
  }

  @inline(__always)
  private func begins(_ wanted: StaticString) -> Bool {
    guard text.count - position >= wanted.utf8CodeUnitCount else { return false }
    for index in 0..<wanted.utf8CodeUnitCount where text[position + index] != wanted.utf8Start[index] { return false }
    return true
  }

  @inline(__always)
  private mutating func take(_ wanted: StaticString) -> Bool {
    guard begins(wanted) else { return false }
    position += wanted.utf8CodeUnitCount
    return true
  }
}
