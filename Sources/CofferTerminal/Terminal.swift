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
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return (80, 24) }
    return (size.ws_col > 0 ? Int(size.ws_col) : 80, size.ws_row > 0 ? Int(size.ws_row) : 24)
  }

  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw TerminalError.failed(errno: errno)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Restores the echo and the screen from a signal handler that stops or ends the process.
  package static func restoreInSignalHandler() {
    Echo.restoreInSignalHandler()
    FullScreen.restoreInSignalHandler()
  }
}
