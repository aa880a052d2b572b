internal import CofferDocuments
internal import CofferFoundation

// Values of any type, and Foundation types with their own JSON form.
extension JSONValueDecoder {
  /// Decodes a value.
  ///
  /// - Parameters:
  ///   - type: The value's type.
  ///   - value: The value's entry.
  ///   - path: Returns the value's path, which only errors and containers need.
  func value<Value: Decodable>(_ type: Value.Type, at value: Int, _ path: () -> JSONCodingPath?) throws -> Value {
    // Check frequent types without containers first. A cast between equal types doesn't change the value.
    if type == String.self { return unsafeBitCast(try string(at: value, path), to: type) }
    if type == Int.self { return unsafeBitCast(try integer(Int.self, at: value, path), to: type) }
    if type == Double.self { return unsafeBitCast(try double(at: value, path), to: type) }
    if type == [String].self {
      return unsafeBitCast(try elements(at: value, path()) { try $0.string(at: $1, $2) }, to: type)
    }
    if type == [Int].self {
      return unsafeBitCast(try elements(at: value, path()) { try $0.integer(Int.self, at: $1, $2) }, to: type)
    }
    if type == [Double].self {
      return unsafeBitCast(try elements(at: value, path()) { try $0.double(at: $1, $2) }, to: type)
    }
    if type == Date.self { return try date(at: value, path) as! Value }
    if type == Data.self { return try data(at: value, path) as! Value }
    if type == URL.self { return try url(at: value, path) as! Value }
    if type == Decimal.self { return try decimal(at: value, path) as! Value }
    return try with(value, path: path()) { try Value(from: self) }
  }

  /// Decodes an array of values without containers.
  private func elements<Element>(
    at array: Int, _ path: JSONCodingPath?,
    _ element: (JSONValueDecoder, Int, () -> JSONCodingPath?) throws -> Element
  ) throws -> [Element] {
    guard kind(of: array) == .array else {
      _ = try with(array, path: path) { try unkeyedContainer() }
      preconditionFailure("internal error: a container of a value that isn't an array")
    }
    var elements: [Element] = []
    let count = source.tape.entries[array].count
    elements.reserveCapacity(count)
    var next = array + 1
    for index in 0..<count {
      elements.append(try element(self, next) { JSONCodingPath(path, JSONCodingKey.index(index)) })
      next += source.tape.entries[next].span
    }
    return elements
  }

  private func date(at value: Int, _ path: () -> JSONCodingPath?) throws -> Date {
    try requireValue(Date.self, at: value, path)
    switch source.reading.dates {
    case .deferredToDate:
      return Date(timeIntervalSinceReferenceDate: try double(at: value, path))
    case .secondsSince1970:
      return Date(timeIntervalSince1970: try double(at: value, path))
    case .millisecondsSince1970:
      return Date(timeIntervalSince1970: try double(at: value, path) / 1000)
    case .iso8601:
      let text = try string(at: value, path)
      guard let date = try? Date.ISO8601FormatStyle().parse(text) else {
        // Report the path of the value that contains the date, like Foundation.
        throw DecodingError.dataCorrupted(
          .init(codingPath: codingPath, debugDescription: "Expected date string to be ISO8601-formatted."))
      }
      return date
    case .custom(let decode):
      return try with(value, path: path()) { try decode(self) }
    }
  }

  private func data(at value: Int, _ path: () -> JSONCodingPath?) throws -> Data {
    try requireValue(Data.self, at: value, path)
    switch source.reading.data {
    case .deferredToData:
      return try with(value, path: path()) { try Data(from: self) }
    case .base64:
      guard let data = Data(base64Encoded: try string(at: value, path)) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: JSONCodingPath.keys(path()), debugDescription: "Encountered Data is not valid Base64."))
      }
      return data
    case .custom(let decode):
      return try with(value, path: path()) { try decode(self) }
    }
  }

  private func url(at value: Int, _ path: () -> JSONCodingPath?) throws -> URL {
    try requireValue(URL.self, at: value, path)
    guard let url = URL(string: try string(at: value, path)) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: JSONCodingPath.keys(path()), debugDescription: "Invalid URL string."))
    }
    return url
  }

  private func decimal(at value: Int, _ path: () -> JSONCodingPath?) throws -> Decimal {
    try requireValue(Decimal.self, at: value, path)
    guard kind(of: value) == .number else {
      throw DecodingError.typeMismatch(
        Decimal.self, .init(codingPath: JSONCodingPath.keys(path()), debugDescription: ""))
    }
    guard let decimal = Decimal(string: String(decoding: literal(at: value), as: UTF8.self)) else {
      throw JSONUnrepresentable()
    }
    return decimal
  }
}
