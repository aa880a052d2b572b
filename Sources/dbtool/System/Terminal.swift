internal import Coffer
internal import Glibc

/// Detects terminals and their width, and asks for passphrases without echo.
enum Terminal {
  static let standardInputIsTerminal = isatty(STDIN_FILENO) == 1
  static let standardOutputIsTerminal = isatty(STDOUT_FILENO) == 1
  static let standardErrorIsTerminal = isatty(STDERR_FILENO) == 1

  /// Whether the user wants no colours (`NO_COLOR`).
  static var forbidsColors: Bool { getenv("NO_COLOR").map { $0.pointee != 0 } ?? false }

  /// The width of the terminal in columns; 80 if unknown.
  static func width(of descriptor: Int32) -> Int { size(of: descriptor).columns }

  /// The terminal's size; 80 columns and 24 rows where it is unknown.
  static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return (80, 24) }
    return (size.ws_col > 0 ? Int(size.ws_col) : 80, size.ws_row > 0 ? Int(size.ws_row) : 24)
  }

  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw Failure.system(errno, "the terminal")
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Asks for an existing passphrase.
  static func askPassphrase(_ prompt: String) throws -> Secret {
    try withTerminal { try ask(prompt, on: $0) }
  }

  /// Drops what was typed since the last answer: the terminal has shown it.
  static func forgetTyped() {
    guard let terminal = Device.open() else { return }
    defer { terminal.close() }
    tcflush(terminal.input, TCIFLUSH)
  }

  /// Asks for a new passphrase, twice.
  ///
  /// - Parameter optionPrefix: the prefix of the options that would avoid the prompt.
  static func askNewPassphrase(_ prompt: String, optionPrefix: String) throws -> Secret {
    try withTerminal(optionPrefix) { terminal in
      let first = try ask(prompt, on: terminal)
      guard first.count > 0 else { throw Failure.failed("an empty passphrase protects nothing") }
      let second = try ask("The same again: ", on: terminal)
      guard first.isSame(as: second) else { throw Failure.failed("the two passphrases differ") }
      return first
    }
  }

  private static func withTerminal<R>(_ optionPrefix: String = "", _ body: (Device) throws -> R) throws -> R {
    guard let terminal = Device.open() else {
      throw Failure.keyNeeded("there is no terminal to ask on", prefix: optionPrefix)
    }
    defer { terminal.close() }
    return try body(terminal)
  }

  private static func ask(_ prompt: String, on terminal: Device) throws -> Secret {
    let echo = try Echo(terminal.input)
    let suspension = Suspension()
    defer {
      echo.restore()
      suspension.end()
      try? terminal.write("\n")
    }
    // In canonical mode one read returns one line, at most 4096 bytes; it goes straight into locked memory.
    return try Secret(byteCount: 4096) { line in
      // The echo is turned off first, so that an answer typed at once is not shown.
      try echo.turnOff()
      while true {
        try terminal.write(prompt)
        if let count = try terminal.readLine(into: line, unless: { Suspension.hasEnded }) { return count }
        // The shell may have turned the echo on while this process was stopped; a line half typed is dropped.
        try echo.turnOff(droppingInput: true)
        try terminal.write("\n")
      }
    }
  }
}

/// The terminal's input and output: `/dev/tty`, or standard input and standard error if both are terminals.
private struct Device {
  let input: Int32
  let output: Int32

  /// Nil where there is no terminal.
  static func open() -> Device? {
    let terminal = Glibc.open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    if terminal >= 0 {
      return Device(input: terminal, output: terminal)
    }
    if Terminal.standardInputIsTerminal, Terminal.standardErrorIsTerminal {
      return Device(input: STDIN_FILENO, output: STDERR_FILENO)
    }
    return nil
  }

  func close() {
    if input != STDIN_FILENO {
      Glibc.close(input)
    }
  }

  func write(_ text: String) throws {
    try Array(text.utf8).withUnsafeBytes { try Terminal.write($0, to: output) }
  }

  /// Reads up to a line end, which is left out.
  ///
  /// - Parameter isInterrupted: polled while nothing is typed; nil is returned when it is true.
  func readLine(
    into buffer: UnsafeMutableRawBufferPointer, unless isInterrupted: () -> Bool
  ) throws -> Int? {
    var count = 0
    while count < buffer.count {
      // Polled because another thread may receive the signal, which would not end a read here.
      var wanted = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
      let ready = poll(&wanted, 1, 100)
      if isInterrupted() { return nil }
      if ready == 0 || ready < 0 && errno == EINTR { continue }
      let got = Glibc.read(input, buffer.baseAddress! + count, buffer.count - count)
      if got < 0 {
        if errno == EINTR { continue }
        throw Failure.system(errno, "the terminal")
      }
      if got == 0 {
        if count == 0 { throw Failure(.keyNeeded, kind: "key-needed", "no passphrase was given") }
        return count
      }
      if let end = buffer[count..<count + got].firstIndex(of: UInt8(ascii: "\n")) {
        return end
      }
      count += got
    }
    throw Failure.failed("the passphrase is longer than a terminal line can be")
  }
}

/// Turns the terminal's echo off while a passphrase is typed, and on again in every case.
struct Echo {
  private let descriptor: Int32

  // A signal handler may read only plain memory: the former settings, and whether they are set.
  nonisolated(unsafe) private static let former = UnsafeMutablePointer<termios>.allocate(capacity: 1)
  // Only the prompting thread writes it, before the echo is turned off and after it is restored.
  nonisolated(unsafe) private static var offDescriptor: Int32 = -1

  init(_ descriptor: Int32) throws {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { throw Failure.system(errno, "the terminal") }
    Self.former.initialize(to: settings)
    Self.offDescriptor = descriptor
    self.descriptor = descriptor
  }

  /// - Parameter droppingInput: drops what was typed before.
  func turnOff(droppingInput: Bool = false) throws {
    var settings = Self.former.pointee
    settings.c_lflag &= ~tcflag_t(ECHO)
    settings.c_lflag |= tcflag_t(ICANON | ISIG)
    // A background process is stopped here, until its shell brings it to the front.
    repeat {
      Suspension.begin()
      while tcsetattr(descriptor, droppingInput ? TCSAFLUSH : TCSADRAIN, &settings) != 0 {
        guard errno == EINTR else { throw Failure.system(errno, "the terminal") }
      }
    } while Suspension.hasEnded
  }

  func restore() {
    tcsetattr(descriptor, TCSANOW, Self.former)
    Self.offDescriptor = -1
  }

  static func restoreInSignalHandler() {
    if offDescriptor >= 0 {
      tcsetattr(offDescriptor, TCSANOW, former)
    }
  }
}

extension Secret {
  /// Compares in constant time.
  fileprivate func isSame(as other: Secret) -> Bool {
    guard count == other.count else { return false }
    return withUnsafeBytes { ours in
      other.withUnsafeBytes { theirs in
        var difference: UInt8 = 0
        for index in ours.indices {
          difference |= ours[index] ^ theirs[index]
        }
        return difference == 0
      }
    }
  }
}
