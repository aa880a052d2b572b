/// A value in SQLite's form.
public enum SQLiteValue: Sendable, Hashable {
  /// NULL.
  case null
  /// A signed 64-bit integer.
  case integer(Int64)
  /// A double. SQLite can't store NaN.
  case real(Double)
  /// A text, which may contain U+0000.
  case text(String)
  /// Bytes.
  case blob([UInt8])
}

/// The type of a stored value: NULL, a signed 64-bit integer, a double, a text or bytes.
public enum StorageClass: Sendable, Hashable {
  case null, integer, real, text, blob
}

extension SQLiteValue {
  /// The value's type.
  public var storageClass: StorageClass {
    switch self {
    case .null: .null
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .blob: .blob
    }
  }

  /// A Boolean value that indicates whether the value is NULL.
  public var isNull: Bool { self == .null }

  /// The integer, or `nil` for other storage classes.
  public var integer: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The number, including integers, or `nil` for other storage classes.
  public var real: Double? {
    switch self {
    case .real(let value): value
    case .integer(let value): Double(value)
    default: nil
    }
  }

  /// The text, or `nil` for other storage classes.
  public var text: String? {
    if case .text(let value) = self { value } else { nil }
  }

  /// The blob's bytes, or `nil` for other storage classes.
  public var blob: [UInt8]? {
    if case .blob(let value) = self { value } else { nil }
  }
}

extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(stringLiteral value: String) { self = .text(value) }
}
