internal import Coffer
internal import CofferDocuments

/// A JSON value whose members keep their order, as documented in Commands.
enum JSONValue {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  /// An ISO 8601 string in UTC, or local time in a table on a terminal.
  case date(Timestamp)
  case array([JSONValue])
  case object([(name: String, value: JSONValue)])
  /// Valid JSON.
  case raw([UInt8])

  /// Returns an object without absent members.
  static func object(present members: [(String, JSONValue?)]) -> JSONValue {
    .object(members.compactMap { name, value in value.map { (name: name, value: $0) } })
  }

  static func integer(_ value: Int) -> JSONValue { .integer(Int64(value)) }
}

extension JSONValue {
  /// The value on one line, without spaces.
  var serialized: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .integer(let value): JSONWriter.appendInteger(value, to: &bytes)
    case .number(let value): JSONWriter.appendNumber(value, to: &bytes)
    case .string(let value): JSONWriter.appendString(value, to: &bytes)
    case .date(let date): JSONWriter.appendString(date.description, to: &bytes)
    case .raw(let json): bytes += json
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONWriter.appendString(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}
