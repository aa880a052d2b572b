internal import CofferDocuments
internal import CofferFoundation

// Values without containers.
extension JSONValueEncoder {
  /// Writes a value of a frequent type, or of a type with its own JSON form.
  ///
  /// - Returns: `false` if the value writes itself.
  func writeSimple<Value: Encodable>(_ value: Value) throws -> Bool {
    let type = Value.self
    // A cast between equal types doesn't change the value.
    if type == String.self {
      output.composer.append(unsafeBitCast(value, to: String.self))
    } else if type == Int.self {
      append(unsafeBitCast(value, to: Int.self))
    } else if type == Double.self {
      try append(unsafeBitCast(value, to: Double.self))
    } else if type == [String].self {
      output.composer.append(unsafeBitCast(value, to: [String].self))
    } else if type == [Int].self {
      output.composer.append(unsafeBitCast(value, to: [Int].self))
    } else if type == [Double].self {
      let reals = unsafeBitCast(value, to: [Double].self)
      // Foundation writes the strings for infinite numbers in arrays with rules of its own.
      guard reals.allSatisfy(\.isFinite) else { throw JSONUnfit() }
      output.composer.append(reals: reals)
    } else if type == Date.self {
      return try write(value as! Date)
    } else if type == Data.self {
      guard case .base64 = output.writing.data else { return false }
      (value as! Data).withUnsafeBytes { output.composer.append(base64: $0) }
    } else if type == URL.self {
      output.composer.append((value as! URL).absoluteString)
    } else if type == Decimal.self {
      let decimal = value as! Decimal
      guard !decimal.isNaN else { throw JSONUnfit() }
      output.composer.append(literal: decimal.description)
    } else {
      return false
    }
    return true
  }

  @inline(__always)
  func append<Integer: FixedWidthInteger>(_ value: Integer) {
    if let small = Int64(exactly: value) {
      output.composer.append(small)
    } else {
      output.composer.append(literal: "\(value)")
    }
  }

  @inline(__always)
  func append(_ value: Double) throws {
    if value.isFinite { output.composer.append(real: value) } else { try append(infinite: value) }
  }

  @inline(__always)
  func append(_ value: Float) throws {
    if value.isFinite { output.composer.append(real: value) } else { try append(infinite: Double(value)) }
  }

  private func append(infinite value: Double) throws {
    guard case .convertToString(let positive, let negative, let nan) = output.writing.floats else { throw JSONUnfit() }
    output.composer.append(value.isNaN ? nan : value > 0 ? positive : negative)
  }

  /// - Returns: `false` if the date writes itself, or a closure writes it.
  private func write(_ date: Date) throws -> Bool {
    switch output.writing.dates {
    case .deferredToDate: try append(date.timeIntervalSinceReferenceDate)
    case .secondsSince1970: try append(finite: date.timeIntervalSince1970)
    case .millisecondsSince1970: try append(finite: 1000 * date.timeIntervalSince1970)
    case .iso8601: output.composer.append(date.formatted(.iso8601))
    case .custom: return false
    }
    return true
  }

  /// Appends a date's number. The strategy for infinite numbers isn't for dates.
  private func append(finite value: Double) throws {
    guard value.isFinite else { throw JSONUnfit() }
    output.composer.append(real: value)
  }
}
