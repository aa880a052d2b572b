internal import CofferPlatform

/// A text that a terminal shows in rows, starting at any place.
///
/// Lays out only visible rows, so a text of 256 MiB is shown as quickly as a short text. The bytes are overwritten on
/// deinitialization.
package final class ShownText {
  /// The start of a row: the offset of its line, or of a part of a very long line, and the index of the row in it.
  package struct Place: Equatable, Comparable {
    package private(set) var line = 0
    package fileprivate(set) var row = 0

    package init() {}

    package init(line: Int, row: Int = 0) {
      (self.line, self.row) = (line, row)
    }

    package static func < (place: Place, other: Place) -> Bool { (place.line, place.row) < (other.line, other.row) }
  }

  /// The maximum number of bytes to lay out together. A longer line is divided into parts, and each part starts a row.
  private static let partBytes = 32 << 10
  /// The number of bytes at the end of a part to search for a space. Without a space, the part ends between characters.
  private static let wordBytes = 1024

  private var bytes: [UInt8]
  /// The rows of recently laid out long lines, because each redraw needs them several times.
  private var recent: [(line: Int, width: Int, rows: [ArraySlice<TerminalCells.Cell>])] = []
  /// The sorted byte ranges to highlight.
  package let hits: [Range<Int>]

  package init(_ bytes: [UInt8], hits: [Range<Int>] = []) {
    self.bytes = bytes
    self.hits = hits
  }

  package convenience init(_ text: String) {
    self.init(Array(text.utf8))
  }

  deinit {
    bytes.withUnsafeMutableBytes { bytes in
      if let base = bytes.baseAddress { coffer_wipe(base, bytes.count) }
    }
  }

  /// Returns up to `count` rows, starting at a place.
  package func rows(from place: Place, count: Int, width: Int) -> [[StyledText]] {
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

  /// Returns the place that is `count` rows below, or above if `count` is negative. Stops at the ends of the text.
  package func moved(_ place: Place, by count: Int, width: Int) -> Place {
    var (place, left) = (place, abs(count))
    while left > 0 {
      // Lay out a line only once, even if all of its rows are skipped.
      let rows = count > 0 ? laidOut(place.line, width).count - 1 - place.row : place.row
      if left <= rows { return Place(line: place.line, row: place.row + (count > 0 ? left : -left)) }
      place.row += count > 0 ? rows : -rows
      guard let next = count > 0 ? next(place, width) : previous(place, width) else { break }
      (place, left) = (next, left - rows - 1)
    }
    return place
  }

  /// Returns the last place at which the rows fill the screen.
  package func last(height: Int, width: Int) -> Place {
    guard let line = lineBefore(bytes.count) else { return Place() }
    return moved(Place(line: line, row: laidOut(line, width).count - 1), by: 1 - height, width: width)
  }

  /// Returns the place of the row that shows a byte.
  package func place(of offset: Int, width: Int) -> Place {
    var line = logicalStart(before: offset)
    while true {
      let part = part(from: line)
      if offset < part.next || part.next >= bytes.count { break }
      line = part.next
    }
    let row = laidOut(line, width).lastIndex { $0.first.map { $0.offset <= offset } ?? false } ?? 0
    return Place(line: line, row: row)
  }

  /// Returns the start of a line, or of the last line if there are fewer. Line numbers start at 1.
  package func place(ofLine number: Int) -> Place {
    bytes.withUnsafeBytes { bytes in
      var line = 0
      var left = number - 1
      while left > 0, let base = bytes.baseAddress, let end = memchr(base + line, 0x0A, bytes.count - line) {
        let next = UnsafeRawPointer(end) - base + 1
        // A line end at the end of the text doesn't start another line.
        if next == bytes.count { break }
        (line, left) = (next, left - 1)
      }
      return Place(line: line)
    }
  }

  /// Returns the place of the row at the given percentage of the text.
  package func place(ofPercent percent: Int, width: Int) -> Place {
    guard !bytes.isEmpty else { return Place() }
    return place(of: min(bytes.count - 1, bytes.count * min(percent, 100) / 100), width: width)
  }

  /// Returns the same place after the width changed, limited to the rows of its line.
  package func clamped(_ place: Place, width: Int) -> Place {
    Place(line: place.line, row: min(place.row, laidOut(place.line, width).count - 1))
  }

  /// Returns the percentage of the text above the bottom of the screen.
  package func percent(at place: Place, height: Int, width: Int) -> Int {
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

  /// Returns the end of the line or part that starts at an offset, and the start of the next line or part.
  private func part(from start: Int) -> (end: Int, next: Int) {
    bytes.withUnsafeBytes { bytes in
      var limit = min(start + Self.partBytes, bytes.count)
      if let base = bytes.baseAddress, let end = memchr(base + start, 0x0A, limit - start) {
        let place = UnsafeRawPointer(end) - base
        return (place, place + 1)
      }
      limit = Self.breakable(bytes, start, limit)
      // Include a line end that follows immediately, because otherwise it would become an empty row.
      var end = limit
      if end + 1 < bytes.count, bytes[end] == 0x0D { end += 1 }
      return end < bytes.count && bytes[end] == 0x0A ? (end, end + 1) : (limit, limit)
    }
  }

  /// Returns the last offset up to `limit` at which a part can end: after a space if possible, to keep words whole.
  private static func breakable(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ limit: Int) -> Int {
    guard limit < bytes.count else { return limit }
    let earliest = max(start + 1, limit - wordBytes)
    if let space = bytes[earliest - 1..<limit].lastIndex(of: 0x20) { return space + 1 }
    // Keep a character with several scalars whole. The last character before the limit might continue after it.
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

  /// Returns the start of the previous line or part, or `nil` at the start of the text.
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

  /// Returns the start of the line that contains an offset.
  private func logicalStart(before offset: Int) -> Int {
    bytes.withUnsafeBytes { bytes in
      bytes[..<offset].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    }
  }
}
