import CofferDocuments
import CofferFoundation
import Testing

@testable import CofferEngine

/// Coders with the same strategies.
struct JSONCoders {
  var encoder = JSONEncoder()
  var decoder = JSONDecoder()

  init(_ setEncoder: (JSONEncoder) -> Void = { _ in }, _ setDecoder: (JSONDecoder) -> Void = { _ in }) {
    setEncoder(encoder)
    setDecoder(decoder)
    writing = JSONWriting(encoder)
    reading = JSONReading(decoder)
  }

  let writing: JSONWriting
  let reading: JSONReading

  /// Compares the texts, or the errors, and the titles with those that a scan finds in the texts.
  func compare(writing value: some Encodable, _ location: SourceLocation = #_sourceLocation) {
    let expected = JSONOutcome { String(decoding: try encoder.encode(value), as: UTF8.self) }
    let found = JSONOutcome {
      let written = try writing.encode(value)
      #expect(written.title == Document(text: written.text, isJSON: true).titleInJSON, sourceLocation: location)
      return written.text
    }
    #expect(found == expected, "\(type(of: value))", sourceLocation: location)
  }

  /// Compares the values, or the errors.
  func compare<Value: Decodable & Equatable>(
    reading text: String, as type: Value.Type, _ location: SourceLocation = #_sourceLocation
  ) {
    let expected = JSONOutcome { try decoder.decode(type, from: Data(text.utf8)) }
    let found = JSONOutcome { try Array(text.utf8).withUnsafeBytes { try reading.decode(type, from: $0) } }
    // Foundation reads a dictionary's members in an order that changes, so any of several faults is the first.
    if found.isInDictionary, expected.isInDictionary { return }
    #expect(found == expected, "\(text)", sourceLocation: location)
  }
}

/// A value, or the parts of an error that messages show.
enum JSONOutcome<Value: Equatable>: Equatable {
  case value(Value)
  case error(String)

  init(_ body: () throws -> Value) {
    do {
      self = .value(try body())
    } catch {
      self = .error(Self.parts(of: error))
    }
  }

  /// Whether this is an error of a dictionary's member, or of a number, which has no path.
  var isInDictionary: Bool {
    guard case .error(let error) = self else { return false }
    return error.hasSuffix("corrupted at ") || error.contains("|nil|false")
  }

  private static func parts(of error: any Error) -> String {
    func path(_ keys: [any CodingKey]) -> String {
      keys.map { "\($0.stringValue)|\($0.intValue as Any)|\(Mirror(reflecting: $0).displayStyle == .enum)" }
        .joined(separator: ", ")
    }
    switch error {
    case DecodingError.keyNotFound(let key, let context): return "no \(path([key])) in \(path(context.codingPath))"
    case DecodingError.valueNotFound(let type, let context):
      return "null, not \(type), at \(path(context.codingPath))"
    case DecodingError.typeMismatch(let type, let context): return "not \(type) at \(path(context.codingPath))"
    case DecodingError.dataCorrupted(let context): return "corrupted at \(path(context.codingPath))"
    case EncodingError.invalidValue(let value, let context):
      return "invalid \(type(of: value)) at \(path(context.codingPath))"
    default: return "\(type(of: error))"
    }
  }
}
