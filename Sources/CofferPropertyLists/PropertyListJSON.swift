internal import CofferDocuments

/// Writes property list values as JSON, in order, without spaces, and with exact integers.
struct PropertyListJSON {
  private struct Container {
    let place: Int
    let isDictionary: Bool
    /// The index of the dictionary's first key in `keys`.
    let firstKey: Int
    var isEmpty = true
  }

  /// Appends data in another form than base64, if the caller provides one.
  private let data: PropertyList.DataWriter?
  private var open: [Container] = []
  /// The keys of open dictionaries, as ranges in the output.
  private var keys: [Range<Int>] = []

  init(data: PropertyList.DataWriter? = nil) {
    self.data = data
  }

  /// Appends the reader's next value.
  ///
  /// - Throws: `tooLarge` if the JSON is longer than ``Document/maximumTextByteCount``.
  mutating func append(_ reader: inout some PropertyListReader, to output: inout [UInt8]) throws(PropertyListFault) {
    let start = output.count
    repeat {
      let event = try reader.next()
      switch event {
      case .beginArray, .beginDictionary:
        separate(&output)
        let isDictionary = if case .beginDictionary = event { true } else { false }
        open.append(Container(place: reader.place, isDictionary: isDictionary, firstKey: keys.count))
        output.append(isDictionary ? JSONByte.openBrace : JSONByte.openBracket)
      case .endArray:
        open.removeLast()
        output.append(JSONByte.closeBracket)
      case .endDictionary:
        let dictionary = open.removeLast()
        guard !output.repeatsAny(of: keys[dictionary.firstKey...]) else {
          throw PropertyListFault(
            position: reader.range(of: dictionary.place).lowerBound, reason: PropertyListLimits.repeatedKey)
        }
        keys.removeLast(keys.count - dictionary.firstKey)
        output.append(JSONByte.closeBrace)
      case .key:
        separate(&output)
        let keyStart = output.count
        Self.appendString(reader.bytes, to: &output)
        keys.append(keyStart..<output.count)
        output.append(JSONByte.colon)
      default:
        separate(&output)
        Self.append(event, reader.bytes, to: &output, data: data)
      }
      guard output.count - start <= Document.maximumTextByteCount else { throw reader.tooLong() }
    } while !open.isEmpty
  }

  /// Writes a comma before an element or key, unless it's the first.
  private mutating func separate(_ output: inout [UInt8]) {
    guard let last = open.last, !last.isDictionary || output.last != JSONByte.colon else { return }
    if !last.isEmpty { output.append(JSONByte.comma) }
    open[open.count - 1].isEmpty = false
  }

  /// Appends a value other than an array or dictionary.
  static func append(
    _ event: PropertyListEvent, _ bytes: [UInt8], to output: inout [UInt8], data: PropertyList.DataWriter? = nil
  ) {
    switch event {
    case .string, .key: appendString(bytes, to: &output)
    case .data:
      bytes.withUnsafeBytes { bytes in
        if let data { data(bytes, &output) } else { JSONWriter.append(base64: bytes, to: &output) }
      }
    case .integer(let value): output += String(value).utf8
    case .real(let value): JSONWriter.append(real: value, to: &output)
    case .date(let date): JSONWriter.appendString(date.description, to: &output)
    case .bool(let value): output += (value ? "true" : "false").utf8
    case .null: output += "null".utf8
    case .uid(let number): output += "{\"CF$UID\":\(number)}".utf8
    case .beginArray, .endArray, .beginDictionary, .endDictionary:
      preconditionFailure("internal error: a part of a value taken for a value")
    }
  }

  static func appendString(_ bytes: [UInt8], to output: inout [UInt8]) {
    bytes.withUnsafeBytes { JSONWriter.appendString($0, to: &output) }
  }
}

extension PropertyListReader {
  func tooLong() -> PropertyListFault {
    fault("a text longer than \(Document.maximumTextByteCount) bytes", code: .tooLarge)
  }
}

extension [UInt8] {
  /// Returns whether two of the ranges contain the same bytes.
  func repeatsAny(of ranges: ArraySlice<Range<Int>>) -> Bool {
    guard ranges.count > 1 else { return false }
    return withUnsafeBytes { bytes in
      let sorted = ranges.sorted { bytes[$0].lexicographicallyPrecedes(bytes[$1]) }
      return zip(sorted, sorted.dropFirst()).contains { bytes[$0].elementsEqual(bytes[$1]) }
    }
  }
}
