/// A type that can be read from a column. It's the counterpart of ``SQLiteValueConvertible``.
public protocol SQLiteValueReadable {
  /// Reads a column's value without converting it.
  ///
  /// - Returns: `nil` for a value with another type, or a value that this type can't represent exactly.
  init?(sqliteValue: SQLiteValue)
}

extension SQLiteValue: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self = sqliteValue }
}

extension Optional: SQLiteValueReadable where Wrapped: SQLiteValueReadable {
  /// Reads NULL as `nil`.
  public init?(sqliteValue: SQLiteValue) {
    if sqliteValue.isNull {
      self = Wrapped?.none
    } else if let value = Wrapped(sqliteValue: sqliteValue) {
      self = Wrapped?(value)
    } else {
      return nil
    }
  }
}

extension Bool: SQLiteValueReadable {
  /// Reads 1 or 0, but no other integers.
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .integer(0): self = false
    case .integer(1): self = true
    default: return nil
    }
  }
}

extension FixedWidthInteger {
  fileprivate init?(exact value: SQLiteValue) {
    guard case .integer(let integer) = value else { return nil }
    self.init(exactly: integer)
  }
}

extension Int: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension Int64: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension Int32: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension Int16: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension Int8: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension UInt: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension UInt64: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension UInt32: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension UInt16: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension UInt8: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) { self.init(exact: sqliteValue) }
}

extension Double: SQLiteValueReadable {
  /// Reads a real number, or an integer that a `Double` can represent exactly.
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .real(let value): self = value
    case .integer(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension Float: SQLiteValueReadable {
  /// Reads a rounded real number, or an integer that a `Float` can represent exactly.
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .real(let value): self.init(value)
    case .integer(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension String: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) {
    guard case .text(let text) = sqliteValue else { return nil }
    self = text
  }
}

extension [UInt8]: SQLiteValueReadable {
  public init?(sqliteValue: SQLiteValue) {
    guard case .blob(let bytes) = sqliteValue else { return nil }
    self = bytes
  }
}
