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

  /// The most bytes of a line that are laid out at once; longer lines are shown in parts.
  private static let partBytes = 4096

  private var bytes: [UInt8]
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

  /// The same row after a change of the width.
  func clamped(_ place: Place, width: Int) -> Place {
    Place(line: place.line, row: min(place.row, laidOut(place.line, width).count - 1))
  }

  /// How much of the text is before the end of the screen, in percent.
  func percent(at place: Place, height: Int, width: Int) -> Int {
    let end = moved(place, by: height, width: width)
    if end == moved(place, by: height - 1, width: width) { return 100 }
    return bytes.isEmpty ? 100 : end.line * 100 / bytes.count
  }
}

// MARK: - Lines

extension ShownText {
  private func laidOut(_ line: Int, _ width: Int) -> [ArraySlice<TerminalCells.Cell>] {
    var end = part(from: line).end
    if end > line, end < bytes.count, bytes[end] == 0x0A, bytes[end - 1] == 0x0D { end -= 1 }
    return bytes.withUnsafeBytes { TerminalCells($0, line..<end, hits: hits) }.rows(width: max(1, width))
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
      // Characters of several bytes stay whole.
      while limit < bytes.count, limit > start + 1, bytes[limit] & 0xC0 == 0x80 { limit -= 1 }
      // A line end right behind belongs to this part: the next one would be an empty row.
      var end = limit
      if end + 1 < bytes.count, bytes[end] == 0x0D { end += 1 }
      return end < bytes.count && bytes[end] == 0x0A ? (end, end + 1) : (limit, limit)
    }
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
