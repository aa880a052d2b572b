internal import Glibc

/// A text that is shown in rows of a terminal, from any place in it.
///
/// Nothing is computed for the rows that aren't shown: a text of 256 MiB is shown as quickly as a short one. The bytes are
/// overwritten when the text is dropped.
final class ShownText {
  /// The beginning of a row: a line, or a part of a very long one, by its first byte, and the row in it.
  struct Place: Equatable, Comparable {
    var line = 0
    var row = 0

    static func < (place: Place, other: Place) -> Bool { (place.line, place.row) < (other.line, other.row) }
  }

  /// The most bytes of a line that are laid out at once; longer lines are shown in parts, each of which begins a row.
  private static let partBytes = 32 << 10
  /// A part ends behind a space that is so near to its end, else between two characters.
  private static let wordBytes = 1024

  private var bytes: [UInt8]
  /// The rows of the lines that were laid out last: a draw asks for those of a long one several times.
  private var recent: [(line: Int, width: Int, rows: [ArraySlice<TerminalCells.Cell>])] = []
  /// Ranges of bytes to highlight, sorted.
  let hits: [Range<Int>]

  init(_ bytes: [UInt8], hits: [Range<Int>] = []) {
    self.bytes = bytes
    self.hits = hits
  }

  convenience init(_ text: String) {
    self.init(Array(text.utf8))
  }

  deinit {
    bytes.withUnsafeMutableBytes { bytes in
      if let base = bytes.baseAddress { explicit_bzero(base, bytes.count) }
    }
  }

  /// The rows from a place on.
  func rows(from place: Place, count: Int, width: Int) -> [[StyledText]] {
    var rows: [[StyledText]] = []
    var (line, first) = (place.line, place.row)
    while rows.count < count, line < bytes.count || line == 0 && rows.isEmpty {
      let laidOut = self.laidOut(line, width)
      rows += laidOut.dropFirst(first).prefix(count - rows.count).map { TerminalCells.styled($0) }
      first = 0
      line = part(from: line).next
      if line == 0 { break }
    }
    return rows
  }

  /// The place so many rows further down, or further up for a negative count; it stays within the text.
  func moved(_ place: Place, by count: Int, width: Int) -> Place {
    var (place, left) = (place, abs(count))
    while left > 0 {
      // A line's rows are laid out once, however many are passed.
      let rows = count > 0 ? laidOut(place.line, width).count - 1 - place.row : place.row
      if left <= rows { return Place(line: place.line, row: place.row + (count > 0 ? left : -left)) }
      place.row += count > 0 ? rows : -rows
      guard let next = count > 0 ? next(place, width) : previous(place, width) else { break }
      (place, left) = (next, left - rows - 1)
    }
    return place
  }

  /// The last place from which the rows fill the screen.
  func last(height: Int, width: Int) -> Place {
    guard let line = lineBefore(bytes.count) else { return Place() }
    return moved(Place(line: line, row: laidOut(line, width).count - 1), by: 1 - height, width: width)
  }

  /// The row that shows a byte.
  func place(of offset: Int, width: Int) -> Place {
    var line = logicalStart(before: offset)
    while true {
      let part = part(from: line)
      if offset < part.next || part.next >= bytes.count { break }
      line = part.next
    }
    let row = laidOut(line, width).lastIndex { $0.first.map { $0.offset <= offset } ?? false } ?? 0
    return Place(line: line, row: row)
  }

  /// The beginning of a line, by its number from 1; of the last line, if there are not so many.
  func place(ofLine number: Int) -> Place {
    bytes.withUnsafeBytes { bytes in
      var line = 0
      var left = number - 1
      while left > 0, let base = bytes.baseAddress, let end = memchr(base + line, 0x0A, bytes.count - line) {
        let next = UnsafeRawPointer(end) - base + 1
        // A line end at the end of the text begins no line.
        if next == bytes.count { break }
        (line, left) = (next, left - 1)
      }
      return Place(line: line)
    }
  }

  /// The row that shows the byte so far into the text.
  func place(ofPercent percent: Int, width: Int) -> Place {
    guard !bytes.isEmpty else { return Place() }
    return place(of: min(bytes.count - 1, bytes.count * min(percent, 100) / 100), width: width)
  }

  /// The same row after a change of the width.
  func clamped(_ place: Place, width: Int) -> Place {
    Place(line: place.line, row: min(place.row, laidOut(place.line, width).count - 1))
  }

  /// How much of the text is before the end of the screen, in percent.
  func percent(at place: Place, height: Int, width: Int) -> Int {
    let end = moved(place, by: height, width: width)
    if bytes.isEmpty || end == moved(place, by: height - 1, width: width) { return 100 }
    let offset = laidOut(end.line, width)[end.row].first?.offset ?? end.line
    return offset * 100 / bytes.count
  }
}

// MARK: - Lines

extension ShownText {
  private func laidOut(_ line: Int, _ width: Int) -> [ArraySlice<TerminalCells.Cell>] {
    if let known = recent.first(where: { $0.line == line && $0.width == width }) { return known.rows }
    var end = part(from: line).end
    if end > line, end < bytes.count, bytes[end] == 0x0A, bytes[end - 1] == 0x0D { end -= 1 }
    let rows = bytes.withUnsafeBytes { TerminalCells($0, line..<end, hits: hits) }.rows(width: max(1, width))
    if end - line > Self.wordBytes { recent = recent.suffix(2) + [(line, width, rows)] }
    return rows
  }

  private func next(_ place: Place, _ width: Int) -> Place? {
    if place.row + 1 < laidOut(place.line, width).count { return Place(line: place.line, row: place.row + 1) }
    let line = part(from: place.line).next
    return line < bytes.count && line > place.line ? Place(line: line) : nil
  }

  private func previous(_ place: Place, _ width: Int) -> Place? {
    if place.row > 0 { return Place(line: place.line, row: place.row - 1) }
    guard let line = lineBefore(place.line) else { return nil }
    return Place(line: line, row: laidOut(line, width).count - 1)
  }

  /// The end of the line, or of the part of a long one, that begins at a byte, and the beginning of the next one.
  private func part(from start: Int) -> (end: Int, next: Int) {
    bytes.withUnsafeBytes { bytes in
      var limit = min(start + Self.partBytes, bytes.count)
      if let base = bytes.baseAddress, let end = memchr(base + start, 0x0A, limit - start) {
        let place = UnsafeRawPointer(end) - base
        return (place, place + 1)
      }
      limit = Self.breakable(bytes, start, limit)
      // A line end right behind belongs to this part: the next one would be an empty row.
      var end = limit
      if end + 1 < bytes.count, bytes[end] == 0x0D { end += 1 }
      return end < bytes.count && bytes[end] == 0x0A ? (end, end + 1) : (limit, limit)
    }
  }

  /// The place at or before `limit` where a part may end: behind a word if there is one, so that no word is torn.
  private static func breakable(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ limit: Int) -> Int {
    guard limit < bytes.count else { return limit }
    let earliest = max(start + 1, limit - wordBytes)
    if let space = bytes[earliest - 1..<limit].lastIndex(of: 0x20) { return space + 1 }
    // A character of several scalars stays whole: the last one of the tail may go on behind it.
    var begin = earliest
    while begin < limit, bytes[begin] & 0xC0 == 0x80 { begin += 1 }
    var end = min(limit + 64, bytes.count)
    while end > limit, end < bytes.count, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    var place = begin
    for character in String(decoding: bytes[begin..<end], as: UTF8.self) {
      let next = place + character.utf8.count
      if next > limit { break }
      place = next
    }
    return place > begin ? place : limit
  }

  /// The beginning of the line, or part of one, before the one that begins at a byte.
  private func lineBefore(_ start: Int) -> Int? {
    guard start > 0 else { return nil }
    let end = bytes[start - 1] == 0x0A ? start - 1 : start
    var line = logicalStart(before: end)
    while true {
      let next = part(from: line).next
      if next >= start { return line }
      line = next
    }
  }

  /// The first byte of the line that a byte is in.
  private func logicalStart(before offset: Int) -> Int {
    bytes.withUnsafeBytes { bytes in
      bytes[..<offset].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    }
  }
}
