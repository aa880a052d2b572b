/// A value as SQLite stores it.
public enum SQLiteValue: Sendable, Hashable {
  /// NULL.
  case null
  /// A signed integer of 64 bits.
  case integer(Int64)
  /// A double; SQLite keeps no NaN.
  case real(Double)
  /// A text, which may hold U+0000.
  case text(String)
  /// Bytes.
  case blob([UInt8])
}

/// The type that SQLite stores a value with: NULL, a signed integer of 64 bits, a double, a text or bytes.
public enum StorageClass: Sendable, Hashable {
  case null, integer, real, text, blob
}

extension SQLiteValue {
  /// The type of this value.
  public var storageClass: StorageClass {
    switch self {
    case .null: .null
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .blob: .blob
    }
  }

  /// Whether the value is NULL.
  public var isNull: Bool { self == .null }

  /// The integer, nil for any other storage class.
  public var integer: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The number, integers included, nil for any other storage class.
  public var real: Double? {
    switch self {
    case .real(let value): value
    case .integer(let value): Double(value)
    default: nil
    }
  }

  /// The text, nil for any other storage class.
  public var text: String? {
    if case .text(let value) = self { value } else { nil }
  }

  /// The bytes of a blob, nil for any other storage class.
  public var blob: [UInt8]? {
    if case .blob(let value) = self { value } else { nil }
  }
}

extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(stringLiteral value: String) { self = .text(value) }
}
