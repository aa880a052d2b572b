internal import CofferPlatform

/// The terminal of the standard streams: whether there is one, its size, and writing to it.
package enum Terminal {
  package static let standardInputIsTerminal = isatty(STDIN_FILENO) == 1
  package static let standardOutputIsTerminal = isatty(STDOUT_FILENO) == 1
  package static let standardErrorIsTerminal = isatty(STDERR_FILENO) == 1

  /// A Boolean value that indicates whether the user turned colors off (`NO_COLOR`).
  package static var forbidsColors: Bool { getenv("NO_COLOR").map { $0.pointee != 0 } ?? false }

  /// Returns the width of the terminal in columns, or 80 if it's unknown.
  package static func width(of descriptor: Int32) -> Int { size(of: descriptor).columns }

  /// Returns the size of the terminal, or 80 columns and 24 rows if it's unknown.
  package static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
    var (columns, rows): (Int32, Int32) = (0, 0)
    _ = coffer_terminal_size(descriptor, &columns, &rows)
    return (columns > 0 ? Int(columns) : 80, rows > 0 ? Int(rows) : 24)
  }

  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
    guard FileBytes.writeAll(bytes, to: descriptor) else { throw TerminalError.failed(errno: errno) }
  }

  /// Restores the echo and the screen from a signal handler that stops or ends the process.
  package static func restoreInSignalHandler() {
    Echo.restoreInSignalHandler()
    FullScreen.restoreInSignalHandler()
  }
}
