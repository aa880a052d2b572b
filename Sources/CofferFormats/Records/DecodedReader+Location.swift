internal import CofferText

// Maps positions in the buffer to locations in the input. Decoding doesn't record anything, because the end of the
// buffer is the end of the decoded input, and every supported encoding has a fixed size for each character. So the
// distance from the end, or from the next replaced byte, determines the location.
extension DecodedReader {
  /// Returns the line, column and byte offset in the input for a position in `start...end`.
  mutating func location(of position: Int, record: Int? = nil) -> InputLocation {
    guard isText else {
      return InputLocation(record: record, line: nil, column: nil, byteOffset: inputOffset(of: position))
    }
    countLines(to: position)
    return InputLocation(
      record: record, line: countedLines.lineFeeds + 1, column: countedLines.characters + 1,
      byteOffset: inputOffset(of: position))
  }

  /// Moves the count of line feeds, and of characters after the last line feed, to a position in either direction, so
  /// several locations in one long line cost no more than one.
  mutating func countLines(to position: Int) {
    let counted = countedLines.position
    let forward = position >= counted
    bytes.withUnsafeBytes { buffer in
      let between = UnsafeRawBufferPointer(rebasing: buffer[min(counted, position)..<max(counted, position)])
      let lineFeeds = between.count(of: Byte.lineFeed)
      countedLines.lineFeeds += forward ? lineFeeds : -lineFeeds
      if lineFeeds == 0 {
        let characters = between.scalarCounts().all
        countedLines.characters += forward ? characters : -characters
      } else {
        let before = UnsafeRawBufferPointer(rebasing: buffer[start..<position])
        let lineStart = before.lastIndex(of: Byte.lineFeed).map { $0 + 1 } ?? 0
        countedLines.characters = UnsafeRawBufferPointer(rebasing: before[lineStart...]).scalarCounts().all
      }
    }
    countedLines.position = position
  }

  /// Returns the offset in the input for the byte at `position`.
  mutating func inputOffset(of position: Int) -> Int {
    let offset: Int
    let anchor = firstReplacement(from: position)
    // Cache the last location. Otherwise, each of many invalid records in a buffer would count to its end.
    if let known = knownOffset, (start...position).contains(known.position),
      firstReplacement(from: known.position)?.position == anchor?.position
    {
      offset = known.inputOffset + encodedLength(of: known.position..<position)
    } else {
      let anchorPosition = anchor?.position ?? end
      let anchorOffset = anchor?.inputOffset ?? (isText ? decoder.bytesDecoded : passedOn)
      offset = anchorOffset - encodedLength(of: position..<anchorPosition)
    }
    knownOffset = (position, offset)
    return offset
  }

  /// Returns the undecoded bytes for a range of the buffer, or an empty array if they aren't kept.
  mutating func input(of range: Range<Int>) -> [UInt8] {
    guard kept != nil else { return [] }
    let lower = inputOffset(of: range.lowerBound) - keptOffset
    let upper = inputOffset(of: range.upperBound) - keptOffset
    return kept.map { Array($0[lower..<upper]) } ?? []
  }

  /// Returns the byte order mark and all bytes before `position`. Call this method before discarding bytes.
  mutating func inputHead(before position: Int) -> [UInt8] {
    guard kept != nil, keptOffset == 0 else { return [] }
    let offset = inputOffset(of: position)
    return kept.map { Array($0[..<offset]) } ?? []
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
