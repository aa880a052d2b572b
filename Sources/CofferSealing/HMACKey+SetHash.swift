extension HMACKey {
  /// The code of one element as the number that the set hash sums.
  package func number(of element: UnsafeRawBufferPointer) throws(SealingError) -> SetHash {
    try authenticate(element, into: UnsafeMutableRawBufferPointer(start: code, count: Self.byteCount))
    return SetHash(bytes: UnsafeRawBufferPointer(start: code, count: Self.byteCount))
  }
}
