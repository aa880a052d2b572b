internal import CofferPlatform

/// The rows on the full screen. Writes only the rows that changed.
package struct Canvas {
  private var shown: [[UInt8]] = []
  private var size = (columns: 0, rows: 0)
  private let hasColors: Bool

  package init() {
    hasColors = !Terminal.forbidsColors
  }

  /// Clears the cached rows to force a full redraw.
  package mutating func forget() {
    shown = []
  }

  package mutating func show(_ rows: [CanvasRow], columns: Int) throws {
    var output: [UInt8] = []
    if size != (columns, rows.count) || shown.isEmpty {
      // Write all rows. Each row is cleared first.
      shown = []
      size = (columns, rows.count)
    }
    var written: [[UInt8]] = []
    for (index, row) in rows.enumerated() {
      let bytes = encoded(row, number: index + 1)
      if index >= shown.count || shown[index] != bytes { output += bytes }
      written.append(bytes)
    }
    shown = written
    guard !output.isEmpty else { return }
    try output.withUnsafeBytes { try Terminal.write($0, to: STDOUT_FILENO) }
  }

  /// Returns the bytes that write a row.
  ///
  /// Moves the cursor to each part's column, so a character with an unexpected width shifts only the rest of its part.
  private func encoded(_ row: CanvasRow, number: Int) -> [UInt8] {
    var text = "\u{1B}[\(number);1H\u{1B}[m" + (row.isBar ? "\u{1B}[7m" : "") + "\u{1B}[2K"
    for part in row.parts {
      text += "\u{1B}[\(number);\(part.column + 1)H"
      // Erase the rest of the row, because the previous part might be wider than expected.
      text += "\u{1B}[K"
      for piece in part.pieces {
        text += "\u{1B}[0" + codes(piece.style, isReversed: part.isMarked != row.isBar) + "m" + piece.text
      }
      if part.isMarked || row.isBar {
        let used = part.pieces.reduce(0) { $0 + displayWidth($1.text) }
        let padding = max(0, part.width - used)
        text += "\u{1B}[0;7m" + String(repeating: " ", count: padding)
      }
    }
    return Array((text + "\u{1B}[m").utf8)
  }

  /// Returns the parameters of SGR (ECMA-48, 8.3.117).
  private func codes(_ style: StyledText.Style, isReversed: Bool) -> String {
    let reverse = isReversed ? ";7" : ""
    switch style {
    case .plain: return reverse
    case .dim: return ";2" + reverse
    case .bold: return ";1" + reverse
    case .hit: return (hasColors ? ";1;31" : ";1;4") + reverse
    case .warning: return (hasColors ? ";33" : ";1") + reverse
    }
  }
}

/// A full-screen row.
package struct CanvasRow {
  package struct Part {
    /// The first column, counted from 0.
    let column: Int
    let width: Int
    let pieces: [StyledText]
    let isMarked: Bool

    package init(column: Int, width: Int, pieces: [StyledText], isMarked: Bool = false) {
      (self.column, self.width, self.pieces, self.isMarked) = (column, width, pieces, isMarked)
    }
  }

  package var parts: [Part]
  /// A Boolean value that indicates whether the row is reversed over its whole width.
  let isBar: Bool

  package init(parts: [Part], isBar: Bool = false) {
    (self.parts, self.isBar) = (parts, isBar)
  }
}
