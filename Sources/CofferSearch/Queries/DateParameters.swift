internal import CofferDocuments
internal import CofferEngine
internal import CofferFoundation
internal import CofferSQLite

/// The dates in a query's parameters that are compared with a numeric field.
///
/// SQLite treats a date as text, which never equals a number. Therefore, if a date's parameter is compared directly
/// with a numeric field, as in `made >= ?`, `? < made`, `made BETWEEN ? AND ?` or `made IN (?, ?)`, the date is
/// replaced with its number in the store's values.
struct DateParameters {
  private let tokens: [SQLToken]
  /// Returns whether a column is a numeric field, given its qualifier, if any, and its name.
  private let isNumber: (_ qualifier: String?, _ name: String) -> Bool

  /// Converts dates in place. Has no effect without dates.
  ///
  /// - Parameter number: Returns a date's number in the store's values, or `nil` if dates aren't numbers there.
  static func convert(
    _ parameters: inout [(any SQLiteValueConvertible)?], in sql: String, number: (Date) -> Double?,
    isNumber: @escaping (_ qualifier: String?, _ name: String) -> Bool
  ) {
    let dates = parameters.indices.filter { parameters[$0] is Date || parameters[$0] is Timestamp }
    guard !dates.isEmpty else { return }
    let places = DateParameters(tokens: SQLToken.all(in: sql), isNumber: isNumber)
    let compared = places.comparedParameters()
    for index in dates where compared.contains(index) {
      let date = (parameters[index] as? Timestamp).map { Date($0) } ?? parameters[index] as? Date
      if let number = date.flatMap(number) { parameters[index] = number }
    }
  }

  /// Returns the indexes of the parameters that are compared only with numeric fields.
  private func comparedParameters() -> Set<Int> {
    var (found, others): (Set<Int>, Set<Int>) = ([], [])
    var highest = 0
    var named: [String: Int] = [:]
    for (place, token) in tokens.enumerated() {
      guard case .parameter(let text) = token else { continue }
      let number: Int
      if text == "?" {
        number = highest + 1
      } else if text.hasPrefix("?") {
        number = Int(text.dropFirst()) ?? 0
      } else {
        number = named[text] ?? highest + 1
        named[text] = number
      }
      highest = max(highest, number)
      if isCompared(at: place) { found.insert(number - 1) } else { others.insert(number - 1) }
    }
    // A parameter can't be both a number and text.
    return found.subtracting(others)
  }

  private func isCompared(at place: Int) -> Bool {
    if place + 1 < tokens.count, tokens[place + 1].isComparison, isNumberColumn(from: place + 2) { return true }
    var before = place - 1
    guard before >= 0 else { return false }
    if tokens[before].isComparison {
      while before >= 0, tokens[before].isComparison { before -= 1 }
      return isNumberColumn(endingAt: before)
    }
    if tokens[before].isWord("AND") {
      before -= 1
      // The lower bound is a single value, such as a parameter.
      before -= 1
      guard before >= 0, tokens[before].isWord("BETWEEN") else { return false }
    }
    if tokens[before].isWord("BETWEEN") { return isNumberColumn(beforeWord: before) }
    while before >= 0, tokens[before].isListItem { before -= 1 }
    guard before >= 1, tokens[before] == .symbol("("), tokens[before - 1].isWord("IN") else { return false }
    return isNumberColumn(beforeWord: before - 1)
  }

  /// Returns whether a column precedes `BETWEEN` or `IN`, or `NOT` and that word.
  private func isNumberColumn(beforeWord word: Int) -> Bool {
    let end = word >= 1 && tokens[word - 1].isWord("NOT") ? word - 2 : word - 1
    return isNumberColumn(endingAt: end)
  }

  private func isNumberColumn(endingAt end: Int) -> Bool {
    guard end >= 0, let name = tokens[end].name else { return false }
    let hasQualifier = end >= 2 && tokens[end - 1] == .symbol(".")
    return isNumber(hasQualifier ? tokens[end - 2].name : nil, name)
  }

  private func isNumberColumn(from start: Int) -> Bool {
    let isQualified = start + 2 < tokens.count && tokens[start + 1] == .symbol(".")
    let end = isQualified ? start + 2 : start
    return end < tokens.count && isNumberColumn(endingAt: end)
  }
}

/// A SQL token. Comments and whitespace are omitted.
private enum SQLToken: Equatable {
  /// A name or word. A quoted name is never a word.
  case name(String, isQuoted: Bool)
  case parameter(String)
  case literal
  case symbol(String)

  var name: String? { if case .name(let name, _) = self { name } else { nil } }

  func isWord(_ word: String) -> Bool {
    if case .name(let name, isQuoted: false) = self { name.isEqualForSQL(to: word) } else { false }
  }

  var isComparison: Bool {
    switch self {
    case .symbol(let symbol): ["=", "==", "<", "<=", ">", ">=", "<>", "!="].contains(symbol)
    default: isWord("IS") || isWord("NOT")
    }
  }

  /// Whether the token can be in a list of values, after its opening parenthesis.
  var isListItem: Bool {
    switch self {
    case .parameter, .literal: true
    case .symbol(let symbol): symbol == ","
    case .name: false
    }
  }

  static func all(in sql: String) -> [SQLToken] {
    var tokens: [SQLToken] = []
    let bytes = Array(sql.utf8)
    var place = 0
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    func isNameByte(_ byte: UInt8) -> Bool {
      byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    func endOfName(_ start: Int) -> Int { bytes[start...].firstIndex { !isNameByte($0) } ?? bytes.count }
    /// Returns the end of a quoted token, and its text without doubled quotes.
    func quoted(_ close: UInt8) -> (end: Int, text: String) {
      var content: [UInt8] = []
      var end = place + 1
      while end < bytes.count {
        if bytes[end] == close {
          guard close != UInt8(ascii: "]"), end + 1 < bytes.count, bytes[end + 1] == close else { break }
          end += 1
        }
        content.append(bytes[end])
        end += 1
      }
      return (min(end + 1, bytes.count), String(decoding: content, as: UTF8.self))
    }
    while place < bytes.count {
      let byte = bytes[place]
      let next = place + 1 < bytes.count ? bytes[place + 1] : 0
      switch byte {
      case UInt8(ascii: " "), 0x09...0x0D: place += 1
      case UInt8(ascii: "-") where next == UInt8(ascii: "-"):
        place = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      case UInt8(ascii: "/") where next == UInt8(ascii: "*"):
        place = bytes[(place + 2)...].firstRange(of: Array("*/".utf8))?.upperBound ?? bytes.count
      case UInt8(ascii: "'"):
        tokens.append(.literal)
        place = quoted(byte).end
      case UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "["):
        let found = quoted(byte == UInt8(ascii: "[") ? UInt8(ascii: "]") : byte)
        tokens.append(.name(found.text, isQuoted: true))
        place = found.end
      case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"), UInt8(ascii: "#"):
        let end = endOfName(place + 1)
        tokens.append(.parameter(text(place..<end)))
        place = end
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        tokens.append(.literal)
        place = endOfName(place)
      case _ where isNameByte(byte):
        let end = endOfName(place)
        tokens.append(.name(text(place..<end), isQuoted: false))
        place = end
      default:
        let isPair = ["==", "<=", ">=", "<>", "!="].contains(text(place..<min(place + 2, bytes.count)))
        tokens.append(.symbol(text(place..<place + (isPair ? 2 : 1))))
        place += isPair ? 2 : 1
      }
    }
    return tokens
  }
}
