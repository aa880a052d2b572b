// The standard library's access to an array's bytes rethrows without a type; these keep it.

extension Array where Element == UInt8 {
  package func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let result: Result<R, E> = withUnsafeBytes { bytes in
      Result { () throws(E) in try body(bytes) }
    }
    return try result.get()
  }

  package mutating func withMutableBytes<R, E: Error>(_ body: (UnsafeMutableRawBufferPointer) throws(E) -> R)
    throws(E) -> R
  {
    let result: Result<R, E> = withUnsafeMutableBytes { bytes in
      Result { () throws(E) in try body(bytes) }
    }
    return try result.get()
  }
}
