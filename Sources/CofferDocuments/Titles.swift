/// The storage of titles in a store, chosen when it is created.
public enum TitleMode: UInt32, Hashable, Sendable, CaseIterable {
  /// Sealed like the text; a list opens one small head for each document.
  case sealed = 0
  /// In plaintext: anyone who has the file can read them.
  case clear = 1
  /// Not stored.
  case none = 2
}

/// A collection's rule for documents without a title.
public enum TitleRule: Int, Hashable, Sendable {
  /// It stays without one.
  case asGiven = 0
  /// The title is the string `title`, or else `name`, of a text that is JSON, and the beginning of any other text (see
  /// ``TitleRule/derivedTitle(from:)``). It changes with the text until one is given.
  case derived = 1

  /// The longest derived title, in characters (grapheme clusters).
  public static let derivedLength = 50
  /// The longest derived title in bytes, since a character may have any number of combining marks.
  private static let derivedByteLimit = 4096

  /// The first 50 characters of the text's first line that is not empty, or nil when there is none.
  ///
  /// Lines end at LF, CR or CRLF. Reads no more of a long line than it needs.
  public static func derivedTitle(from text: String) -> String? {
    var text = text
    return text.withUTF8 { derivedTitle(fromUTF8: UnsafeRawBufferPointer($0)) }
  }

  /// The first 50 characters of the first line that is not empty, from UTF-8, which must be valid; nil when there is
  /// none.
  public static func derivedTitle(fromUTF8 text: UnsafeRawBufferPointer) -> String? {
    guard let start = text.firstIndex(where: { !isLineEnd($0) }) else { return nil }
    // A character may have any number of bytes: the window widens until it surely holds enough.
    var window = 2 * derivedLength
    while true {
      let limit = min(text.count, start + window)
      let lineEnd = text[start..<limit].firstIndex(where: isLineEnd)
      let end = lineEnd ?? limit
      let line = String(decoding: text[start..<end], as: UTF8.self)
      let title = line.prefix(derivedLength)
      // A window that ends inside a character ends the title only if it holds more of the line behind it.
      let isSeen = lineEnd != nil || limit == text.count || line.utf8.count - title.utf8.count > 16
      if title.utf8.count > derivedByteLimit { return cut(title) }
      if isSeen { return String(title) }
      window *= 4
    }
  }

  /// Cuts a title with too many combining marks between two scalars.
  private static func cut(_ title: Substring) -> String {
    var count = 0
    let scalars = title.unicodeScalars.prefix { scalar in
      count += UTF8.width(scalar)
      return count <= derivedByteLimit
    }
    return String(scalars)
  }

  private static func isLineEnd(_ byte: UInt8) -> Bool {
    byte == 0x0A || byte == 0x0D
  }
}

// MARK: - The rule, one for single documents and bulk

extension TitleRule {
  /// The title that this rule gives a document without one.
  package func title(for document: Document) -> String? {
    self == .derived ? document.derivedTitle : nil
  }

  /// The same for a text in UTF-8, which must be valid.
  package func title(forUTF8 text: UnsafeRawBufferPointer, isJSON: Bool) -> String? {
    self == .derived ? Self.title(ofUTF8: text, isJSON: isJSON) : nil
  }

  /// The title of a changed document: one that the old text gave changes with the text.
  package func title(for new: Document, insteadOf old: Document) -> String? {
    guard self == .derived, new.title == nil || new.title.isIdentical(to: old.derivedTitle) else { return new.title }
    return new.derivedTitle
  }

  /// The title that ``derived`` gives a text.
  fileprivate static func title(ofUTF8 text: UnsafeRawBufferPointer, isJSON: Bool) -> String? {
    (isJSON ? titleInJSON(text) : nil) ?? derivedTitle(fromUTF8: text)
  }

  /// An object's string `title`, or else `name`; nil for other JSON. Of two members of one name, the first counts.
  package static func titleInJSON(_ json: UnsafeRawBufferPointer) -> String? {
    var scanner = JSONScanner(json)
    scanner.skipWhitespace()
    return (try? scanner.scanTitles())?.title
  }
}

/// The members of an object that can be the title of a document, noted in the order of the text.
struct TitleMembers {
  /// The first member's string, or `.some(nil)` if its value is of another kind.
  private var titled: String??
  private var named: String??

  /// The string `title`, or else `name`.
  var title: String? { (titled ?? nil) ?? (named ?? nil) }

  /// Notes a member.
  ///
  /// - Parameters:
  ///   - hasName: Returns whether the member has a name.
  ///   - string: Returns the member's value, or `nil` if it isn't a string.
  mutating func note(_ hasName: (StaticString) -> Bool, _ string: () -> String?) {
    if titled == nil, hasName("title") {
      titled = .some(string())
    } else if named == nil, hasName("name") {
      named = .some(string())
    }
  }
}

extension JSONScanner {
  /// Steps over the object that begins here, which must be all that is left, and finds its titles.
  fileprivate mutating func scanTitles() throws(JSONError) -> TitleMembers {
    try openObject(depth: 1)
    var found = TitleMembers()
    var isFirst = true
    while let name = try nextName(isFirst: isFirst) {
      var string: StringToken?
      if next == JSONByte.quote { string = try scanString() } else { try skipValue(depth: 1) }
      let scanner = self
      found.note({ scanner.equals(name, $0) }) { string.map { scanner.string(of: $0) } }
      isFirst = false
    }
    skipWhitespace()
    if next != nil { throw malformed("text after the value") }
    return found
  }
}

extension Optional<String> {
  /// Returns whether both titles are missing or have the same bytes, because composed and decomposed forms are equal
  /// strings but different titles.
  package func isIdentical(to other: String?) -> Bool {
    switch (self, other) {
    case (let one?, let other?): one.utf8.elementsEqual(other.utf8)
    case (nil, nil): true
    default: false
    }
  }
}

extension Document {
  /// The title in a text that is JSON; nil for other texts.
  package var titleInJSON: String? {
    guard isJSON else { return nil }
    var text = text
    return text.withUTF8 { TitleRule.titleInJSON(UnsafeRawBufferPointer($0)) }
  }

  /// The title by ``TitleRule/derived``.
  package var derivedTitle: String? {
    var text = text
    return text.withUTF8 { TitleRule.title(ofUTF8: UnsafeRawBufferPointer($0), isJSON: isJSON) }
  }
}
