/// An error of the terminal. The program that shows it supplies the message.
package enum TerminalError: Error, Equatable {
  /// A system call failed with the given `errno`.
  case failed(errno: Int32)
  /// The terminal was closed, so there's no more input.
  case closed
}
