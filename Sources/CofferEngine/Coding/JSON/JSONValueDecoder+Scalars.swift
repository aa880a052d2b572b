internal import CofferDocuments
internal import CofferFoundation

// Values without members. The closure returns a value's path, which only errors need.
extension JSONValueDecoder {
  @inline(__always)
  func bool(at value: Int, _ path: () -> JSONCodingPath?) throws -> Bool {
    let entry = source.tape.entries[value]
    guard entry.kind == .bool else { throw mismatch(Bool.self, at: value, path()) }
    return entry.isMarked
  }

  @inline(__always)
  func string(at value: Int, _ path: () -> JSONCodingPath?) throws -> String {
    guard kind(of: value) == .string else {
      try requireValue(String.self, at: value, path)
      throw mismatch(String.self, at: value, path())
    }
    return source.tape.string(at: value, in: source.bytes)
  }

  @inline(__always)
  func integer<Integer: FixedWidthInteger & Decodable>(
    _ type: Integer.Type = Integer.self, at value: Int, _ path: () -> JSONCodingPath?
  ) throws -> Integer {
    guard kind(of: value) == .number else {
      try requireValue(type, at: value, path)
      throw mismatch(type, at: value, path())
    }
    if let integer = source.tape.integer(at: value, in: source.bytes).flatMap({ Integer(exactly: $0) }) {
      return integer
    }
    return try unusualInteger(type, at: value)
  }

  /// Decodes an integer beyond 64 bits, or a number such as `1.0` or `1e3`, which Foundation accepts with its own
  /// rules.
  @inline(never)
  private func unusualInteger<Integer: FixedWidthInteger & Decodable>(
    _ type: Integer.Type, at value: Int
  ) throws -> Integer {
    let literal = literal(at: value)
    if let integer = Integer(String(decoding: literal, as: UTF8.self)) { return integer }
    do {
      return try JSONDecoder().decode(type, from: Data(literal))
    } catch {
      throw JSONUnrepresentable()
    }
  }

  @inline(__always)
  func double(at value: Int, _ path: () -> JSONCodingPath?) throws -> Double {
    try real(at: value, path, JSONNumber.double)
  }

  @inline(__always)
  func float(at value: Int, _ path: () -> JSONCodingPath?) throws -> Float {
    try real(at: value, path, JSONNumber.float)
  }

  @inline(__always)
  private func real<Real: BinaryFloatingPoint>(
    at value: Int, _ path: () -> JSONCodingPath?, _ parse: (UnsafeRawBufferPointer) -> Real?
  ) throws -> Real {
    guard kind(of: value) == .number else { return try unusualReal(at: value, path) }
    guard let real = parse(literal(at: value)) else { throw JSONUnrepresentable() }
    return real
  }

  /// Returns the number for a string that represents infinity or NaN.
  @inline(never)
  private func unusualReal<Real: BinaryFloatingPoint>(
    at value: Int, _ path: () -> JSONCodingPath?
  ) throws -> Real {
    try requireValue(Real.self, at: value, path)
    let entry = source.tape.entries[value]
    if entry.kind == .string, !entry.isMarked,
      case .convertFromString(let positive, let negative, let nan) = source.reading.floats
    {
      let text = literal(at: value)
      for (name, real) in [(positive, Real.infinity), (negative, -Real.infinity), (nan, Real.nan)]
      where text.elementsEqual(name.utf8) {
        return real
      }
    }
    throw mismatch(Real.self, at: value, path())
  }

  func literal(at value: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: source.bytes[source.tape.entries[value].range])
  }
}
