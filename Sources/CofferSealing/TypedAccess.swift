// Provides access to an array's bytes with typed throws, which the standard library's functions don't support.
//
// The functions are public to let other modules inline them, because every row uses some of them. As inlinable
// `package` functions, they were called unspecialized, which took 70 ns instead of 2.

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
