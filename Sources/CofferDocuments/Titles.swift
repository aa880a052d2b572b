/// How a store keeps titles; chosen when it is made.
public enum TitleMode: UInt32, Hashable, Sendable, CaseIterable {
  /// Sealed like the text; a list opens one small head per document.
  case sealed = 0
  /// In clear in the file: whoever has the file reads them.
  case clear = 1
  /// Not kept at all.
  case none = 2
}

/// What a collection does with a document that comes without a title.
public enum TitleRule: Int, Hashable, Sendable {
  /// It stays without one.
  case asGiven = 0
  /// The title is what a text that is JSON says itself, its string `title` or else `name`; of any other the beginning
  /// (see ``TitleRule/derivedTitle(from:)``). It changes with the text until one is given.
  case derived = 1

  /// The longest derived title, in characters (grapheme clusters).
  public static let derivedLength = 50
  /// The longest derived title in bytes: a character may have any number of marks.
  private static let derivedByteLimit = 4096

  /// The first 50 characters of the text's first line that is not empty, or nil when there is none.
  ///
  /// Lines end at LF, CR or CRLF. Looks at no more of a long line than it needs.
  public static func derivedTitle(from text: String) -> String? {
    var text = text
    return text.withUTF8 { derivedTitle(fromUTF8: UnsafeRawBufferPointer($0)) }
  }

  /// The same from UTF-8, which must be valid.
  public static func derivedTitle(fromUTF8 text: UnsafeRawBufferPointer) -> String? {
    guard let start = text.firstIndex(where: { !isLineEnd($0) }) else { return nil }
    // A character may be any number of bytes long: look at a window, and widen it until it surely holds enough.
    var window = 2 * derivedLength
    while true {
      let limit = min(text.count, start + window)
      let lineEnd = text[start..<limit].firstIndex(where: isLineEnd)
      let end = lineEnd ?? limit
      let line = String(decoding: text[start..<end], as: UTF8.self)
      let title = line.prefix(derivedLength)
      // A window that ends inside a character ends the title only if more of the line was seen behind it.
      let isSeen = lineEnd != nil || limit == text.count || line.utf8.count - title.utf8.count > 16
      if title.utf8.count > derivedByteLimit { return cut(title) }
      if isSeen { return String(title) }
      window *= 4
    }
  }

  /// Characters can have any number of marks; a title with so many is cut between two of them.
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
  private static let titlePath = JSONPath("title")!
  private static let namePath = JSONPath("name")!

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
    guard self == .derived, new.title == nil || new.title == old.derivedTitle else { return new.title }
    return new.derivedTitle
  }

  /// The title that ``derived`` gives a text.
  fileprivate static func title(ofUTF8 text: UnsafeRawBufferPointer, isJSON: Bool) -> String? {
    (isJSON ? titleInJSON(text) : nil) ?? derivedTitle(fromUTF8: text)
  }

  /// What an object says itself that it is called: its string `title`, or else `name`; nil for other JSON.
  fileprivate static func titleInJSON(_ json: UnsafeRawBufferPointer) -> String? {
    titlePath.string(in: json) ?? namePath.string(in: json)
  }
}

extension Document {
  /// What a text says itself that it is called; nil for what is no JSON.
  package var titleInJSON: String? {
    guard isJSON else { return nil }
    var text = text
    return text.withUTF8 { TitleRule.titleInJSON(UnsafeRawBufferPointer($0)) }
  }

  /// The title that ``TitleRule/derived`` gives.
  package var derivedTitle: String? {
    var text = text
    return text.withUTF8 { TitleRule.title(ofUTF8: UnsafeRawBufferPointer($0), isJSON: isJSON) }
  }
}
