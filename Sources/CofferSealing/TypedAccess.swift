// Access to an array's bytes with typed throws, which the standard library's functions lack.
//
// Public only so that other modules inline them: every row passes through some, and as inlinable `package` functions
// they were called unspecialised, at 70 ns in place of 2.

extension Array where Element == UInt8 {
  @inlinable public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let result: Result<R, E> = withUnsafeBytes { bytes in
      Result { () throws(E) in try body(bytes) }
    }
    return try result.get()
  }

  @inlinable public mutating func withMutableBytes<R, E: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    let result: Result<R, E> = withUnsafeMutableBytes { bytes in
      Result { () throws(E) in try body(bytes) }
    }
    return try result.get()
  }
}
