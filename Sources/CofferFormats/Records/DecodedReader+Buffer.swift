// Transfers, compacts and extends the buffer.
extension DecodedReader {
  /// Moves the consumed bytes to the empty `replacement`, and keeps the rest.
  ///
  /// The buffer is either transferred or its front is copied, whichever copies fewer bytes, so this never copies more
  /// bytes than were consumed.
  ///
  /// - Returns: The distance to subtract from a position in the buffer to get the position in `replacement`.
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

  /// Moves the remaining bytes to the beginning of the buffer, and extends it up to its limit.
  mutating func compact() {
    guard start > 0 || bytes.count < limit else { return }
    // Don't keep the buffer of a huge record for small records.
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

  /// Fills the beginning of the buffer with the rest of a previous buffer.
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

  /// Extends the array to `wanted` in whole blocks, because adding single elements would cost as much as decoding.
  mutating func lengthen(to wanted: Int) {
    reserveCapacity(wanted)
    while count < wanted { append(contentsOf: Self.zeros.prefix(wanted - count)) }
  }
}
