internal import CCofferSQLite

/// A SQL function whose values the program computes.
package protocol ScalarFunction: AnyObject {
  var argumentCount: Int { get }

  /// Writes the function's value to `result`, which is NULL by default. If it throws, the statement ends with a generic
  /// error, so the function must keep its own error for the caller.
  func give(_ arguments: ScalarArguments, to result: VirtualResult) throws
}

/// The arguments of a call, which are valid during the call.
package struct ScalarArguments {
  fileprivate let values: UnsafeMutablePointer<OpaquePointer?>
  package let count: Int

  /// Returns the argument as converted by SQLite, or 0 for NULL.
  package func integer(at index: Int) -> Int64 { sqlite3_value_int64(values[index]) }

  /// Returns the argument, or `nil` unless it's a text with valid Unicode.
  package func text(at index: Int) -> String? {
    guard sqlite3_value_type(values[index]) == SQLITE_TEXT else { return nil }
    let start = sqlite3_value_text(values[index])
    let utf8 = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(values[index])))
    return String(validating: utf8, as: UTF8.self)
  }
}

extension Database {
  /// Registers a function that views may use. Its value can change between calls.
  package func add(_ function: some ScalarFunction, named name: String) throws(SQLiteError) {
    let owner = FunctionOwner(function)
    // SQLite now owns the reference, even if this call fails.
    try connection.check(
      sqlite3_create_function_v2(
        try connection.open(), name, Int32(function.argumentCount), SQLITE_UTF8 | SQLITE_INNOCUOUS,
        Unmanaged.passRetained(owner).toOpaque(),
        { context, count, values in
          let owner = Unmanaged<FunctionOwner>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
          do {
            try owner.function.give(
              ScalarArguments(values: values!, count: Int(count)), to: VirtualResult(context: context!))
          } catch {
            sqlite3_result_error_code(context, SQLITE_ERROR)
          }
        }, nil, nil, { Unmanaged<FunctionOwner>.fromOpaque($0!).release() }))
  }
}

/// A reference for SQLite's pointer.
private final class FunctionOwner {
  let function: any ScalarFunction

  init(_ function: any ScalarFunction) { self.function = function }
}
