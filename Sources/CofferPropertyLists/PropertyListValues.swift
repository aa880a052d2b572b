internal import CofferDocuments

// Values in the forms of property lists.
extension Timestamp {
  private static let reference: Int64 = 978_307_200

  /// Creates a date to the nearest millisecond, or returns `nil` outside the years 0000 to 9999.
  init?(secondsSince2001 seconds: Double) {
    guard seconds.magnitude < 1e12 else { return nil }
    self.init(millisecondsSince1970: Int64((seconds * 1000).rounded()) + Self.reference * 1000)
    guard isStorable else { return nil }
  }
}

extension Timestamp {
  /// Parses `yyyy-MM-ddThh:mm:ssZ`, which is the only date form in XML.
  init?(plistDate text: [UInt8]) {
    let text = text.trimmingSpace
    guard text.count == 20, text[text.startIndex + 10] == UInt8(ascii: "T"), text.last == UInt8(ascii: "Z") else {
      return nil
    }
    self.init(iso8601: String(decoding: text, as: UTF8.self))
  }
}

extension Int128 {
  /// Parses the text of an `<integer>`, which is decimal, or hexadecimal after `0x`. Returns `nil` if the value doesn't
  /// fit `Int64` or `UInt64`.
  init?(plistInteger text: [UInt8]) {
    var rest = text.trimmingSpace
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
    let isHexadecimal = rest.starts(with: "0x".utf8) || rest.starts(with: "0X".utf8)
    if isHexadecimal { rest = rest.dropFirst(2) }
    let radix: Int128 = isHexadecimal ? 16 : 10
    guard !rest.isEmpty else { return nil }
    var value: Int128 = 0
    for byte in rest {
      guard let digit = Hexadecimal.value(of: byte), digit < radix else { return nil }
      value = value * radix + Int128(digit)
      if value > Int128(UInt64.max) { return nil }
    }
    if isNegative { value = -value }
    guard value >= Int128(Int64.min) else { return nil }
    self = value
  }
}

extension Double {
  /// Parses the text of a `<real>`, which is a decimal number, `nan`, or `inf` and `infinity` with or without a sign.
  ///
  /// - Returns: `nil` for other texts, and for a number beyond the largest double.
  init?(plistReal text: [UInt8]) {
    let word = String(decoding: text.trimmingSpace, as: UTF8.self).lowercased()
    switch word {
    case "nan": self = .nan
    case "inf", "+inf", "infinity", "+infinity": self = .infinity
    case "-inf", "-infinity": self = -.infinity
    default:
      guard word.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.e".utf8.contains($0) }), let value = Double(word),
        value.isFinite
      else { return nil }
      self = value
    }
  }
}

extension [UInt8] {
  fileprivate var trimmingSpace: ArraySlice<UInt8> {
    guard let first = firstIndex(where: { !XMLMarkup.isSpace($0) }),
      let last = lastIndex(where: { !XMLMarkup.isSpace($0) })
    else { return [] }
    return self[first...last]
  }
}

extension UnsafeRawBufferPointer {
  func hasSuffix(_ text: StaticString) -> Bool {
    let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    return count >= wanted.count && self[(count - wanted.count)...].elementsEqual(wanted)
  }
}
