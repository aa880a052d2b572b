internal import CofferText

// Where in the input a byte of the buffer comes from. Nothing is recorded on the way: the end of the buffer is known
// to be the end of what was decoded, and every encoding here spends a fixed number of bytes on a character, so the
// distance from there, or from the next replaced byte, says it.
extension DecodedReader {
  /// The line, column and byte of the input that a position in `start...end` stands for.
  mutating func location(of position: Int, record: Int? = nil) -> InputLocation {
    guard isText else {
      return InputLocation(record: record, line: nil, column: nil, byteOffset: inputOffset(of: position))
    }
    countLines(to: position)
    return InputLocation(
      record: record, line: countedLines.lineFeeds + 1, column: countedLines.characters + 1,
      byteOffset: inputOffset(of: position))
  }

  /// Counts line feeds, and characters behind the last, on to a position, or back: each byte once, however many places
  /// of one long line are asked for.
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

  /// Which byte of the input the byte at `position` was decoded from.
  mutating func inputOffset(of position: Int) -> Int {
    let offset: Int
    let anchor = firstReplacement(from: position)
    // Many bad records in one buffer would each count to its end, were the last place not remembered.
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

  /// The input's own bytes for a range of the buffer; none unless they are kept.
  mutating func input(of range: Range<Int>) -> [UInt8] {
    guard kept != nil else { return [] }
    let lower = inputOffset(of: range.lowerBound) - keptOffset
    let upper = inputOffset(of: range.upperBound) - keptOffset
    return kept.map { Array($0[lower..<upper]) } ?? []
  }

  /// The byte order mark and everything before `position`; asked for before anything is discarded.
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
