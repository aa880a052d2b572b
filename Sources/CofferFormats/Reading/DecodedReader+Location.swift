internal import CofferText

// Where in the input a byte of the buffer comes from. Nothing is recorded on the way: the end of the buffer is known
// to be the end of what was decoded, and every encoding here spends a fixed number of bytes on a character, so the
// distance from there, or from the next replaced byte, says it.
extension DecodedReader {
  /// The line, column and byte of the input that a position in `start...end` stands for.
  func location(of position: Int, record: Int? = nil) -> InputLocation {
    bytes.withUnsafeBytes { buffer in
      let before = UnsafeRawBufferPointer(rebasing: buffer[start..<position])
      let lineStart = before.lastIndex(of: Byte.lineFeed).map { $0 + 1 } ?? 0
      return InputLocation(
        record: record,
        line: linesBefore + before.count(of: Byte.lineFeed) + 1,
        column: UnsafeRawBufferPointer(rebasing: before[lineStart...]).scalarCounts().all + 1,
        byteOffset: inputOffset(of: position))
    }
  }

  /// Which byte of the input the byte at `position` was decoded from.
  func inputOffset(of position: Int) -> Int {
    let anchor = firstReplacement(from: position)
    let anchorPosition = anchor?.position ?? end
    let anchorOffset = anchor?.inputOffset ?? decoder.bytesDecoded
    return anchorOffset - encodedLength(of: position..<anchorPosition)
  }

  /// The input's own bytes for a range of the buffer; none unless they are kept.
  func input(of range: Range<Int>) -> [UInt8] {
    guard let kept else { return [] }
    let lower = inputOffset(of: range.lowerBound) - keptOffset
    let upper = inputOffset(of: range.upperBound) - keptOffset
    return Array(kept[lower..<upper])
  }

  /// The byte order mark and everything before `position`; asked for before anything is discarded.
  func inputHead(before position: Int) -> [UInt8] {
    guard let kept, keptOffset == 0 else { return [] }
    return Array(kept[..<inputOffset(of: position)])
  }

  private func encodedLength(of range: Range<Int>) -> Int {
    bytes.withUnsafeBytes { buffer in
      let text = UnsafeRawBufferPointer(rebasing: buffer[range])
      switch decoder.encoding {
      case .utf8, nil:
        return text.count
      case .utf16LittleEndian, .utf16BigEndian:
        let (all, astral) = text.scalarCounts()
        return 2 * (all + astral)
      default:
        return text.scalarCounts().all
      }
    }
  }
}
