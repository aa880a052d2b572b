internal import CofferPlatform
internal import Synchronization

/// The whole terminal: raw input, and the alternate screen, which doesn't add lines to the terminal's scrollback.
///
/// The terminal is restored by ``leave()``, and by the signal handlers that stop or end the process. No handler can run
/// for SIGSTOP, so call ``reenter()`` after such a stop.
package struct FullScreen {
  /// A reason why the terminal can't show a full screen.
  package enum Obstacle {
    /// Standard input or standard output isn't a terminal.
    case noTerminal
    /// The terminal can't move its cursor. `type` is the value of `TERM`, or empty if it isn't set.
    case unsuitable(type: String)
  }

  // The former settings, and whether they must be restored. A signal handler can read only plain memory.
  nonisolated(unsafe) private static let former = UnsafeMutablePointer<termios>.allocate(capacity: 1)
  nonisolated(unsafe) private static var isEntered = false
  /// A Boolean value that indicates whether SIGTSTP arrived.
  ///
  /// The loop that draws stops the process. If the signal handler did it, the loop could write a row after the handler
  /// left the screen.
  private static let isStopRequested = Atomic<Bool>(false)
  /// A Boolean value that indicates whether SIGCONT arrived.
  ///
  /// The shell can change the settings and the screen before it continues the process.
  private static let wasContinued = Atomic<Bool>(false)

  /// The handlers to remove when the full screen is left.
  private var handlers: [SignalHandler] = []

  /// Shows the alternate screen, and turns off the cursor and line wrapping.
  private static let entering: StaticString = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?25l"
  private static let leaving: StaticString = "\u{1B}[?25h\u{1B}[?7h\u{1B}[?1049l"
  /// Clears up to a thousand lines one by one, because some terminals without an alternate screen move a cleared screen
  /// to their scrollback.
  nonisolated(unsafe) private static let clearing: UnsafeMutableBufferPointer<UInt8> = {
    let text = "\u{1B}[m\u{1B}[H" + String(repeating: "\u{1B}[2K\u{1B}[B", count: 1000) + "\u{1B}[H"
    let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
    _ = bytes.initialize(from: text.utf8)
    return bytes
  }()

  /// The reason why the terminal can't show a full screen, or `nil` if it can.
  package static var obstacle: Obstacle? {
    guard Terminal.standardInputIsTerminal, Terminal.standardOutputIsTerminal else { return .noTerminal }
    let type = getenv("TERM").map { String(cString: $0) } ?? ""
    return type.isEmpty || type == "dumb" ? .unsuitable(type: type) : nil
  }

  package init() throws {
    try enter()
  }

  /// Enters the full screen, initially and after ``leave()``.
  package mutating func enter() throws {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { throw TerminalError.failed(errno: errno) }
    Self.former.initialize(to: settings)
    Self.wasContinued.store(false, ordering: .relaxed)
    handlers = [
      SignalHandler(SIGTSTP) { _ in FullScreen.isStopRequested.store(true, ordering: .relaxed) },
      SignalHandler(SIGCONT) { _ in FullScreen.wasContinued.store(true, ordering: .relaxed) },
      SignalHandler(SIGQUIT) { FullScreen.end(by: $0) },
    ]
    _ = Self.clearing
    Self.isEntered = true
    try reenter()
  }

  /// Changes the terminal's settings for the full screen. Discards input that was typed earlier.
  package func reenter() throws {
    var settings = Self.former.pointee
    settings.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INPCK | ISTRIP | IXON)
    settings.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
    settings.c_cflag |= tcflag_t(CS8)
    // The kernel stops a background process here until its shell continues it in the foreground.
    while tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) != 0 {
      guard errno == EINTR else { throw TerminalError.failed(errno: errno) }
    }
    try Self.write(Self.entering)
  }

  /// Restores the terminal for other programs, or when the process ends.
  package mutating func leave() {
    Self.restoreInSignalHandler()
    restoreHandlers()
  }

  private mutating func restoreHandlers() {
    for handler in handlers { handler.restore() }
    handlers = []
  }

  /// Returns whether another process has sent SIGTSTP, and clears the request.
  package static func takesStopRequest() -> Bool { isStopRequested.exchange(false, ordering: .relaxed) }

  /// Returns whether the process continued after a stop that it couldn't handle, and clears that state.
  package static func takesContinuation() -> Bool { wasContinued.exchange(false, ordering: .relaxed) }

  /// Restores only the settings, to ask a question on the cleared full screen.
  package mutating func asking<R>(_ body: () throws -> R) throws -> R {
    Self.clear()
    try Self.write("\u{1B}[?25h")
    tcsetattr(STDIN_FILENO, TCSAFLUSH, Self.former)
    restoreHandlers()
    let quit = SignalHandler(SIGQUIT) { FullScreen.end(by: $0) }
    defer {
      quit.restore()
      try? enter()
    }
    return try body()
  }

  /// Stops the process, and enters the full screen again when the process continues.
  ///
  /// If no shell can continue the process, the kernel drops the signal, and this method returns immediately.
  package mutating func suspend() throws {
    leave()
    raise(SIGTSTP)
    try enter()
  }

  /// Restores the terminal and raises the signal again. Runs inside the signal handler.
  ///
  /// The raised signal ends the process when the handler returns.
  private static func end(by number: Int32) {
    Terminal.restoreInSignalHandler()
    signal(number, SIG_DFL)
    raise(number)
  }

  static func restoreInSignalHandler() {
    guard isEntered else { return }
    isEntered = false
    clear()
    _ = CofferPlatform.write(STDOUT_FILENO, leaving.utf8Start, leaving.utf8CodeUnitCount)
    tcsetattr(STDIN_FILENO, TCSANOW, former)
  }

  private static func clear() {
    _ = CofferPlatform.write(STDOUT_FILENO, clearing.baseAddress, clearing.count)
  }

  private static func write(_ text: StaticString) throws {
    try Terminal.write(
      UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount), to: STDOUT_FILENO)
  }
}
