/// A part of a line in one style. Doesn't contain control characters.
package struct StyledText: Equatable {
  package enum Style: Equatable { case plain, dim, bold, hit, warning }

  package let text: String
  package let style: Style

  package init(_ text: String, _ style: Style = .plain) {
    self.text = text
    self.style = style
  }
}

/// The characters of a line for a terminal, with tabs replaced by spaces, and control characters and invisible
/// characters escaped.
package struct TerminalCells {
  package struct Cell {
    package let text: String
    /// The width in columns.
    package let width: Int
    /// The offset of the character's first byte in the text.
    let offset: Int
    let isSpace: Bool
    let isHit: Bool
  }

  package private(set) var cells: [Cell] = []

  /// Creates the cells of a line.
  ///
  /// - Parameters:
  ///   - bytes: A text in UTF-8.
  ///   - range: The range of the line in `bytes`, without its line end.
  ///   - hits: The sorted ranges in `bytes` to highlight.
  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, hits: [Range<Int>] = []) {
    var column = 0
    var offset = range.lowerBound
    var rest = hits[...]
    let line = String(decoding: bytes[range], as: UTF8.self)
    var next = line.startIndex
    while next < line.endIndex {
      let start = next
      let character = line[start]
      line.formIndex(after: &next)
      while let hit = rest.first, hit.upperBound <= offset { rest = rest.dropFirst() }
      let text =
        character == "\t"
        ? String(repeating: " ", count: 8 - column % 8) : escapingControls(line[start..<next])
      // Terminals disagree about clusters such as an emoji with a skin tone. Use the largest width, so the row fits.
      let width = max(displayWidth(text), text.unicodeScalars.reduce(0) { $0 + displayWidth(Character($1)) })
      cells.append(
        Cell(
          text: text, width: width, offset: offset, isSpace: character == " " || character == "\t",
          isHit: rest.first.map { $0.lowerBound < offset + character.utf8.count } ?? false))
      column += width
      // The offset is correct only for valid UTF-8, because an invalid byte was decoded as U+FFFD.
      offset += character.utf8.count
    }
  }

  package init(_ text: String, hits: [Range<Int>] = []) {
    var text = text
    self = text.withUTF8 { utf8 in
      TerminalCells(UnsafeRawBufferPointer(utf8), 0..<utf8.count, hits: hits)
    }
  }

  /// Returns the cells in rows of the given width, broken after spaces if possible. An empty line has one row.
  package func rows(width: Int) -> [ArraySlice<Cell>] {
    var rows: [ArraySlice<Cell>] = []
    var (start, used) = (0, 0)
    // The index after the row's last space.
    var breakable: Int?
    var index = 0
    while index < cells.count {
      let cell = cells[index]
      if used + cell.width > width, index > start {
        // Spaces at the end of a row are invisible, so they don't need to fit.
        let end = cell.isSpace ? index : breakable ?? index
        rows.append(cells[start..<end])
        start = end
        used = cells[start..<index].reduce(0) { $0 + $1.width }
        breakable = nil
        if cell.isSpace, used == 0 {
          // Skip a space that doesn't fit, because it belongs to the end of the previous row.
          start = index + 1
          index += 1
        }
        // Check the same cell again, because it might not fit after the cells moved to this row.
        continue
      }
      used += cell.width
      if cell.isSpace { breakable = index + 1 }
      index += 1
    }
    if start < cells.count || rows.isEmpty { rows.append(cells[start...]) }
    return rows
  }

  /// Returns the line, cut with an ellipsis if it doesn't fit in the given number of columns.
  package func fitting(_ width: Int, in style: StyledText.Style = .plain) -> [StyledText] {
    guard cells.reduce(0, { $0 + $1.width }) > width else { return Self.styled(cells[...], in: style) }
    var used = 1
    let end = cells.firstIndex { cell in
      used += cell.width
      return used > width
    }
    let shown = Self.styled(cells[..<(end ?? cells.count)], in: style)
    return width > 0 ? shown + [StyledText("…", style)] : []
  }

  /// Returns the text of cells, with one piece for adjacent cells in the same style.
  package static func styled(_ cells: ArraySlice<Cell>, in style: StyledText.Style = .plain) -> [StyledText] {
    var pieces: [StyledText] = []
    var text = ""
    var isHit = false
    for cell in cells {
      if cell.isHit != isHit, !text.isEmpty {
        pieces.append(StyledText(text, isHit ? .hit : style))
        text = ""
      }
      isHit = cell.isHit
      text += cell.text
    }
    if !text.isEmpty { pieces.append(StyledText(text, isHit ? .hit : style)) }
    return pieces
  }
}
