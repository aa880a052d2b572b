/// A type whose values can be bound to a statement's parameters. `nil` is bound as NULL.
public protocol SQLiteValueConvertible {
  /// The value to bind, in SQLite's form.
  var sqliteValue: SQLiteValue { get }
}

extension SQLiteValue: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { self }
}

extension Bool: SQLiteValueConvertible {
  /// 1 or 0.
  public var sqliteValue: SQLiteValue { .integer(self ? 1 : 0) }
}

// Unsigned 64-bit integers don't conform, because SQLite can't store their upper half.

extension Int: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }
}

extension Int64: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .integer(self) }
}

extension Int32: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }
}

extension Int16: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }
}

extension Int8: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }
}

extension UInt32: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }
}

extension UInt16: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }
}

extension UInt8: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }
}

extension Double: SQLiteValueConvertible {
  /// SQLite doesn't support NaN and stores it as NULL.
  public var sqliteValue: SQLiteValue { .real(self) }
}

extension Float: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .real(Double(self)) }
}

extension String: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .text(self) }
}

extension Substring: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .text(String(self)) }
}

extension [UInt8]: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .blob(self) }
}

extension ArraySlice<UInt8>: SQLiteValueConvertible {
  public var sqliteValue: SQLiteValue { .blob(Array(self)) }
}
