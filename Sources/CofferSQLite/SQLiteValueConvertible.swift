/// A type that can be bound to a parameter of a statement. nil is bound as NULL.
public protocol SQLiteValueConvertible {
  var sqliteValue: Value { get }
}

extension Value: SQLiteValueConvertible {
  public var sqliteValue: Value { self }
}

extension Bool: SQLiteValueConvertible {
  /// 1 or 0.
  public var sqliteValue: Value { .integer(self ? 1 : 0) }
}

// Unsigned 64-bit integers are left out: SQLite has no room for their upper half.

extension Int: SQLiteValueConvertible {
  public var sqliteValue: Value { .integer(Int64(self)) }
}

extension Int64: SQLiteValueConvertible {
  public var sqliteValue: Value { .integer(self) }
}

extension Int32: SQLiteValueConvertible {
  public var sqliteValue: Value { .integer(Int64(self)) }
}

extension Int16: SQLiteValueConvertible {
  public var sqliteValue: Value { .integer(Int64(self)) }
}

extension Int8: SQLiteValueConvertible {
  public var sqliteValue: Value { .integer(Int64(self)) }
}

extension UInt32: SQLiteValueConvertible {
  public var sqliteValue: Value { .integer(Int64(self)) }
}

extension UInt16: SQLiteValueConvertible {
  public var sqliteValue: Value { .integer(Int64(self)) }
}

extension UInt8: SQLiteValueConvertible {
  public var sqliteValue: Value { .integer(Int64(self)) }
}

extension Double: SQLiteValueConvertible {
  /// SQLite has no NaN and stores it as NULL.
  public var sqliteValue: Value { .real(self) }
}

extension Float: SQLiteValueConvertible {
  public var sqliteValue: Value { .real(Double(self)) }
}

extension String: SQLiteValueConvertible {
  public var sqliteValue: Value { .text(self) }
}

extension Substring: SQLiteValueConvertible {
  public var sqliteValue: Value { .text(String(self)) }
}

extension [UInt8]: SQLiteValueConvertible {
  public var sqliteValue: Value { .blob(self) }
}

extension ArraySlice<UInt8>: SQLiteValueConvertible {
  public var sqliteValue: Value { .blob(Array(self)) }
}
