// The standard library's access to an array's bytes rethrows without a type; these keep it.
//
// Public only so that other modules can inline them: every row passes through some, and an inlinable `package`
// function is called in its unspecialised form all the same, at 70 ns where these take 2.

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
