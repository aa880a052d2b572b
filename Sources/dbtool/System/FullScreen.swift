internal import Glibc
internal import Synchronization

/// The whole terminal: raw input and the alternate screen, from which nothing enters the terminal's scrollback.
///
/// The terminal is restored when this is left, and by the signal handlers that end or stop the process. After a stop by
/// SIGSTOP, which no process can handle, ``reenter()`` sets it again.
struct FullScreen {
  // A signal handler may read only plain memory: the former settings, and whether they must be restored.
  nonisolated(unsafe) private static let former = UnsafeMutablePointer<termios>.allocate(capacity: 1)
  nonisolated(unsafe) private static var isEntered = false
  /// SIGTSTP arrived. The loop that draws stops the process, so that no row is written while it leaves the screen.
  private static let isStopRequested = Atomic<Bool>(false)
  /// SIGCONT arrived: the shell that continued the process may have changed the settings and the screen.
  private static let wasContinued = Atomic<Bool>(false)

  /// The actions of the signals that are handled on the full screen, as they were before.
  private var formerActions: [(signal: Int32, action: sigaction)] = []

  /// Shows the alternate screen, without a cursor and without wrapping of lines.
  private static let entering: StaticString = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?25l"
  private static let leaving: StaticString = "\u{1B}[?25h\u{1B}[?7h\u{1B}[?1049l"
  /// Clears line by line, for up to a thousand lines: a terminal without an alternate screen may move a screen that is
  /// cleared as a whole into its scrollback.
  nonisolated(unsafe) private static let clearing: UnsafeMutableBufferPointer<UInt8> = {
    let text = "\u{1B}[m\u{1B}[H" + String(repeating: "\u{1B}[2K\u{1B}[B", count: 1000) + "\u{1B}[H"
    let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
    _ = bytes.initialize(from: text.utf8)
    return bytes
  }()

  /// - Throws: a usage error where standard input or output is no terminal, or where the terminal can't move its cursor.
  static func require() throws {
    guard Terminal.standardInputIsTerminal, Terminal.standardOutputIsTerminal else {
      throw Failure.usage("browse needs a terminal", hint: "ls, show and search print for other programs")
    }
    let kind = getenv("TERM").map { String(cString: $0) } ?? ""
    guard !kind.isEmpty, kind != "dumb" else {
      throw Failure.usage(
        "this terminal can't show a full screen (TERM is \(kind.isEmpty ? "not set" : kind))",
        hint: "ls, show and search print line by line")
    }
  }

  init() throws {
    try enter()
  }

  /// Enters the full screen, at the beginning and after ``leave()``.
  mutating func enter() throws {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { throw Failure.system(errno, "the terminal") }
    Self.former.initialize(to: settings)
    Self.wasContinued.store(false, ordering: .relaxed)
    formerActions = [
      (SIGTSTP, Suspension.handle(SIGTSTP) { _ in FullScreen.isStopRequested.store(true, ordering: .relaxed) }),
      (SIGCONT, Suspension.handle(SIGCONT) { _ in FullScreen.wasContinued.store(true, ordering: .relaxed) }),
      (SIGQUIT, Suspension.handle(SIGQUIT) { FullScreen.end(by: $0) }),
    ]
    _ = Self.clearing
    Self.isEntered = true
    try reenter()
  }

  /// Sets the terminal as the full screen needs it; drops what was typed before.
  func reenter() throws {
    var settings = Self.former.pointee
    settings.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INPCK | ISTRIP | IXON)
    settings.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
    settings.c_cflag |= tcflag_t(CS8)
    // A background process is stopped here, until its shell brings it to the front.
    while tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) != 0 {
      guard errno == EINTR else { throw Failure.system(errno, "the terminal") }
    }
    try Self.write(Self.entering)
  }

  /// Restores the terminal for other programs, or for the end of this one.
  mutating func leave() {
    Self.restoreInSignalHandler()
    restoreActions()
  }

  private mutating func restoreActions() {
    for (signal, former) in formerActions {
      var action = former
      sigaction(signal, &action, nil)
    }
    formerActions = []
  }

  /// Whether another process has sent SIGTSTP; asked once for each.
  static func takesStopRequest() -> Bool { isStopRequested.exchange(false, ordering: .relaxed) }

  /// Whether this process was continued after a stop that it could not handle; asked once for each.
  static func takesContinuation() -> Bool { wasContinued.exchange(false, ordering: .relaxed) }

  /// Restores the settings only, for a question on the cleared full screen.
  mutating func asking<R>(_ body: () throws -> R) throws -> R {
    Self.clear()
    try Self.write("\u{1B}[?25h")
    tcsetattr(STDIN_FILENO, TCSAFLUSH, Self.former)
    restoreActions()
    var formerQuit = Suspension.handle(SIGQUIT) { FullScreen.end(by: $0) }
    defer {
      sigaction(SIGQUIT, &formerQuit, nil)
      try? enter()
    }
    return try body()
  }

  /// Stops this process, and enters the full screen again when it is continued.
  ///
  /// The kernel drops the signal where no shell could continue the process; then the full screen is drawn again at once.
  mutating func suspend() throws {
    leave()
    raise(SIGTSTP)
    try enter()
  }

  /// Runs inside the signal handler. The signal, raised again, ends the process when the handler returns.
  private static func end(by number: Int32) {
    Echo.restoreInSignalHandler()
    restoreInSignalHandler()
    signal(number, SIG_DFL)
    raise(number)
  }

  static func restoreInSignalHandler() {
    guard isEntered else { return }
    isEntered = false
    clear()
    _ = Glibc.write(STDOUT_FILENO, leaving.utf8Start, leaving.utf8CodeUnitCount)
    tcsetattr(STDIN_FILENO, TCSANOW, former)
  }

  private static func clear() {
    _ = Glibc.write(STDOUT_FILENO, clearing.baseAddress, clearing.count)
  }

  static func write(_ text: StaticString) throws {
    try Terminal.write(
      UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount), to: STDOUT_FILENO)
  }
}
