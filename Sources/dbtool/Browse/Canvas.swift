internal import Glibc

/// The rows of the whole terminal; only those that changed are written.
struct Canvas {
  private var shown: [[UInt8]] = []
  private var size = (columns: 0, rows: 0)
  private let hasColors: Bool

  init() {
    hasColors = !Terminal.forbidsColors
  }

  /// Forgets what is shown, so that every row is written next.
  mutating func forget() {
    shown = []
  }

  mutating func show(_ rows: [CanvasRow], columns: Int) throws {
    var output: [UInt8] = []
    if size != (columns, rows.count) || shown.isEmpty {
      // Every row is written, and cleared before.
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

  /// Each part begins at its column by a cursor address, so that a character whose width a terminal sees otherwise moves
  /// only the rest of that part.
  private func encoded(_ row: CanvasRow, number: Int) -> [UInt8] {
    var text = "\u{1B}[\(number);1H\u{1B}[m" + (row.isBar ? "\u{1B}[7m" : "") + "\u{1B}[2K"
    for part in row.parts {
      text += "\u{1B}[\(number);\(part.column + 1)H"
      if part.erasesRest { text += "\u{1B}[K" }
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

  /// The parameters of SGR (ECMA-48, 8.3.117).
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

/// A row of the terminal.
struct CanvasRow {
  struct Part {
    /// From 0.
    var column: Int
    var width: Int
    var pieces: [StyledText]
    var isMarked = false
    /// Erases the rest of the row first: the part before may have been wider than computed.
    var erasesRest = true
  }

  var parts: [Part]
  /// Shown in reverse over the whole width.
  var isBar = false
}
