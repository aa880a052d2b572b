/// The storage of titles, which is chosen when a store is created.
public enum TitleMode: UInt32, Hashable, Sendable, CaseIterable {
  /// Titles are encrypted like texts. A list decrypts a small head for each document.
  case sealed = 0
  /// Titles are in plaintext, so anyone who has the file can read them.
  case clear = 1
  /// Titles aren't stored.
  case none = 2
}

/// A collection's rule for documents without a title.
public enum TitleRule: Int, Hashable, Sendable {
  /// The document remains untitled.
  case asGiven = 0
  /// The title comes from the text, and changes with it until the app sets a title. A JSON text's title is its string
  /// `title`, or else `name`. Another text's title is its beginning (see ``TitleRule/derivedTitle(from:)``).
  case derived = 1

  /// The maximum length of a derived title in characters (grapheme clusters).
  private static let derivedLength = 50
  /// The maximum length of a derived title in bytes, because a character can have any number of combining marks.
  private static let derivedByteLimit = 4096

  /// Returns the first 50 characters of the text's first nonempty line, or `nil` if all lines are empty.
  ///
  /// Lines end at LF, CR or CRLF. Only the necessary part of a long line is read.
  public static func derivedTitle(from text: String) -> String? {
    var text = text
    return text.withUTF8 { derivedTitle(fromUTF8: UnsafeRawBufferPointer($0)) }
  }

  /// Returns the first 50 characters of the first nonempty line of valid UTF-8, or `nil` if all lines are empty.
  public static func derivedTitle(fromUTF8 text: UnsafeRawBufferPointer) -> String? {
    guard let start = text.firstIndex(where: { !isLineEnd($0) }) else { return nil }
    // A character can have any number of bytes, so widen the window until it contains enough characters.
    var window = 2 * derivedLength
    while true {
      let limit = min(text.count, start + window)
      let lineEnd = text[start..<limit].firstIndex(where: isLineEnd)
      let end = lineEnd ?? limit
      let line = String(decoding: text[start..<end], as: UTF8.self)
      let title = line.prefix(derivedLength)
      // The window can end inside a character, so use the title only if more bytes of the line follow it.
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

// MARK: - Applying the rule

extension TitleRule {
  /// Returns the title for an untitled document.
  package func title(for document: Document) -> String? {
    self == .derived ? document.derivedTitle : nil
  }

  /// Returns the title for an untitled document whose text is valid UTF-8.
  package func title(forUTF8 text: UnsafeRawBufferPointer, isJSON: Bool) -> String? {
    self == .derived ? Self.title(ofUTF8: text, isJSON: isJSON) : nil
  }

  /// Returns the title of a changed document. A title derived from the old text is derived again.
  package func title(for new: Document, insteadOf old: Document) -> String? {
    guard self == .derived, new.title == nil || new.title.isIdentical(to: old.derivedTitle) else { return new.title }
    return new.derivedTitle
  }

  /// Returns the title for a text under ``derived``.
  fileprivate static func title(ofUTF8 text: UnsafeRawBufferPointer, isJSON: Bool) -> String? {
    (isJSON ? titleInJSON(text) : nil) ?? derivedTitle(fromUTF8: text)
  }

  /// Returns an object's string `title`, or else `name`, or `nil` for other JSON. If two members have the same name,
  /// the function uses the first member.
  package static func titleInJSON(_ json: UnsafeRawBufferPointer) -> String? {
    var scanner = JSONScanner(json)
    scanner.skipWhitespace()
    return (try? scanner.scanTitles())?.title
  }
}

/// The members of an object that can be a document's title. They're noted in the order of the text.
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
  /// Reads the object at this position, which must be the rest of the text, and returns its titles.
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
  /// The title in a JSON text, or `nil` for other texts.
  package var titleInJSON: String? {
    guard isJSON else { return nil }
    var text = text
    return text.withUTF8 { TitleRule.titleInJSON(UnsafeRawBufferPointer($0)) }
  }

  /// The title under ``TitleRule/derived``.
  package var derivedTitle: String? {
    var text = text
    return text.withUTF8 { TitleRule.title(ofUTF8: UnsafeRawBufferPointer($0), isJSON: isJSON) }
  }
}
