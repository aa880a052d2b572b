/// A token of a ranked query.
struct WordQueryToken {
  enum Kind {
    case string, open, close, openBrace, closeBrace, colon, comma, plus, star, minus, caret, and, or, not, end
    case invalid, unclosed
  }

  let kind: Kind
  let range: Range<Int>
  var isQuoted = false

  /// Returns a string's text without its quotation marks.
  func string(in query: [UInt8]) -> String {
    guard isQuoted else { return String(decoding: query[range], as: UTF8.self) }
    // Each quotation mark in the text is doubled.
    var bytes: [UInt8] = []
    var isSecond = false
    for byte in query[range].dropFirst().dropLast() {
      isSecond = byte == UInt8(ascii: "\"") && !isSecond
      if byte != UInt8(ascii: "\"") || isSecond { bytes.append(byte) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns a query's tokens, and ``Kind/end``.
  static func tokens(of query: [UInt8]) -> [WordQueryToken] {
    let marks: [UInt8: Kind] = [
      UInt8(ascii: "("): .open, UInt8(ascii: ")"): .close, UInt8(ascii: "{"): .openBrace,
      UInt8(ascii: "}"): .closeBrace,
      UInt8(ascii: ":"): .colon, UInt8(ascii: ","): .comma, UInt8(ascii: "+"): .plus, UInt8(ascii: "*"): .star,
      UInt8(ascii: "-"): .minus, UInt8(ascii: "^"): .caret,
    ]
    var tokens: [WordQueryToken] = []
    var place = 0
    while place < query.count {
      let start = place
      let byte = query[place]
      place += 1
      if [0x20, 0x09, 0x0A, 0x0D].contains(byte) { continue }
      if let kind = marks[byte] {
        tokens.append(WordQueryToken(kind: kind, range: start..<place))
      } else if byte == UInt8(ascii: "\"") {
        var isClosed = false
        while place < query.count, !isClosed {
          if query[place] == byte {
            if place + 1 < query.count, query[place + 1] == byte { place += 1 } else { isClosed = true }
          }
          place += 1
        }
        tokens.append(WordQueryToken(kind: isClosed ? .string : .unclosed, range: start..<place, isQuoted: true))
      } else if isBare(byte) {
        while place < query.count, isBare(query[place]) { place += 1 }
        let kind: Kind =
          switch String(decoding: query[start..<place], as: UTF8.self) {
          case "AND": .and
          case "OR": .or
          case "NOT": .not
          default: .string
          }
        tokens.append(WordQueryToken(kind: kind, range: start..<place))
      } else {
        tokens.append(WordQueryToken(kind: .invalid, range: start..<place))
      }
    }
    tokens.append(WordQueryToken(kind: .end, range: query.count..<query.count))
    return tokens
  }

  /// Returns whether a byte is allowed in an unquoted word.
  private static func isBare(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), 0x1A, 0x80...,
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
