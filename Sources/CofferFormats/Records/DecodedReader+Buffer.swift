// How the buffer changes hands, makes room and grows.
extension DecodedReader {
  /// Makes `replacement`, which is empty, hold what is consumed, and goes on with the rest.
  ///
  /// The buffer itself is given away, or else its front is copied: whatever leaves fewer bytes to copy, so that no more
  /// bytes are ever copied than were consumed.
  ///
  /// - Returns: what a position in the buffer is to be lessened by to be one in `replacement`.
  mutating func handOver(into replacement: inout [UInt8], consumed: Int) -> Int {
    let front = start..<consumed
    discard(to: consumed)
    if end - consumed > front.count || front.lowerBound > front.count {
      replacement += bytes[front]
      return front.lowerBound
    }
    swap(&bytes, &replacement)
    moveRest(from: replacement)
    replacement.removeLast(replacement.count - start)
    shift(by: start)
    return 0
  }

  /// Brings what is left to the beginning of the buffer, which is made as long as it may be filled.
  mutating func compact() {
    guard start > 0 || bytes.count < limit else { return }
    // The buffer of a huge record does not stay for small ones.
    if bytes.count > 4 * limit {
      let old = bytes
      bytes = []
      moveRest(from: old)
    } else if start > 0 {
      let rest = start..<end
      bytes.withUnsafeMutableBytes { buffer in
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<rest.count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[rest]))
      }
    }
    bytes.lengthen(to: limit)
    shift(by: start)
  }

  /// Fills the beginning of the buffer with what was left of an earlier one.
  private mutating func moveRest(from old: [UInt8]) {
    if bytes.capacity > 4 * max(limit, end - start) { bytes = [] }
    bytes.lengthen(to: max(limit, end - start))
    let rest = start..<end
    bytes.withUnsafeMutableBytes { target in
      old.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[rest])) }
    }
  }

  private mutating func shift(by distance: Int) {
    start -= distance
    end -= distance
    countedLines.position -= distance
    knownOffset?.position -= distance
    for index in replacements.indices { replacements[index].position -= distance }
  }
}

extension [UInt8] {
  private static let zeros = [UInt8](repeating: 0, count: 64 << 10)

  /// Makes the array at least so long; by whole blocks, since adding single elements would cost as much as decoding.
  mutating func lengthen(to wanted: Int) {
    reserveCapacity(wanted)
    while count < wanted { append(contentsOf: Self.zeros.prefix(wanted - count)) }
  }
}
