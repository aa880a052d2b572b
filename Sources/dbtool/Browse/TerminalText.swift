/// A piece of a line as a terminal shows it, in one style.
struct StyledText: Equatable {
  enum Style: Equatable { case plain, dim, bold, hit, warning }

  let text: String
  let style: Style

  init(_ text: String, _ style: Style = .plain) {
    self.text = text
    self.style = style
  }
}

/// The characters of a line of text, each as a terminal shows it: tabs as spaces, control characters escaped.
struct TerminalCells {
  struct Cell {
    let text: String
    /// In columns of the terminal.
    let width: Int
    /// The place of its first byte in the text.
    let offset: Int
    let isSpace: Bool
    let isHit: Bool
  }

  private(set) var cells: [Cell] = []

  /// - Parameters:
  ///   - range: a line of `bytes`, UTF-8, without its end.
  ///   - hits: ranges of `bytes` to highlight, sorted.
  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, hits: [Range<Int>] = []) {
    var column = 0
    var offset = range.lowerBound
    var rest = hits[...]
    for character in String(decoding: bytes[range], as: UTF8.self) {
      while let hit = rest.first, hit.upperBound <= offset { rest = rest.dropFirst() }
      let text =
        character == "\t"
        ? String(repeating: " ", count: 8 - column % 8) : escapingInvisible(character)
      // Terminals differ about clusters such as an emoji with a colour: the widest of their answers loses nothing.
      let width = max(displayWidth(text), text.unicodeScalars.reduce(0) { $0 + displayWidth(Character($1)) })
      cells.append(
        Cell(
          text: text, width: width, offset: offset, isSpace: character == " " || character == "\t",
          isHit: rest.first.map { $0.lowerBound < offset + character.utf8.count } ?? false))
      column += width
      // A byte that is no UTF-8 was decoded as U+FFFD; texts of a store are UTF-8.
      offset += character.utf8.count
    }
  }

  init(_ text: String, hits: [Range<Int>] = []) {
    var text = text
    self = text.withUTF8 { utf8 in
      TerminalCells(UnsafeRawBufferPointer(utf8), 0..<utf8.count, hits: hits)
    }
  }

  /// The cells in rows of at most so many columns, broken behind a space where there is one; one row for an empty line.
  func rows(width: Int) -> [ArraySlice<Cell>] {
    var rows: [ArraySlice<Cell>] = []
    var (start, used) = (0, 0)
    // The place behind the last space of the row.
    var breakable: Int?
    var index = 0
    while index < cells.count {
      let cell = cells[index]
      if used + cell.width > width, index > start {
        // Spaces at the end of a row may be cut: they have nothing to show.
        let end = cell.isSpace ? index : breakable ?? index
        rows.append(cells[start..<end])
        start = end
        used = cells[start..<index].reduce(0) { $0 + $1.width }
        breakable = nil
        if cell.isSpace, used == 0 {
          // A space that did not fit is shown at the end of the row before it, cut off.
          start = index + 1
          index += 1
        }
        // The cells carried over may be too wide together with this one.
        continue
      }
      used += cell.width
      if cell.isSpace { breakable = index + 1 }
      index += 1
    }
    if start < cells.count || rows.isEmpty { rows.append(cells[start...]) }
    return rows
  }

  /// The beginning of the line, `…` where it is cut.
  func fitting(_ width: Int, in style: StyledText.Style = .plain) -> [StyledText] {
    guard cells.reduce(0, { $0 + $1.width }) > width else { return Self.styled(cells[...], in: style) }
    var used = 1
    let end = cells.firstIndex { cell in
      used += cell.width
      return used > width
    }
    let shown = Self.styled(cells[..<(end ?? cells.count)], in: style)
    return width > 0 ? shown + [StyledText("…", style)] : []
  }

  /// Neighbours of one style as one piece.
  static func styled(_ cells: ArraySlice<Cell>, in style: StyledText.Style = .plain) -> [StyledText] {
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

/// Escapes control characters, and characters that a terminal shows as nothing at all, or as a line end.
private func escapingInvisible(_ character: Character) -> String {
  let scalars = character.unicodeScalars
  guard character.utf8.count > 1, scalars.count == 1, let scalar = scalars.first,
    scalar.properties.isDefaultIgnorableCodePoint || ["\u{2028}", "\u{2029}"].contains(scalar)
  else { return escapingControls(String(character)) }
  return "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
}
