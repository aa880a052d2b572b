internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

extension Terminal {
  /// Asks for an existing passphrase.
  static func askPassphrase(_ prompt: String) throws -> Secret {
    try withTerminal { try ask(prompt, on: $0) }
  }

  /// Discards input since the last answer, because the terminal has already displayed it.
  static func forgetTyped() {
    guard let terminal = Device.open() else { return }
    defer { terminal.close() }
    tcflush(terminal.input, TCIFLUSH)
  }

  /// Asks twice for a new passphrase.
  ///
  /// - Parameters:
  ///   - prompt: The first question.
  ///   - optionPrefix: The prefix of the options that avoid the question.
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
    do {
      return try body(terminal)
    } catch let error as TerminalError {
      // Callers expect a failure of the command.
      throw Failure(error)
    }
  }

  private static func ask(_ prompt: String, on terminal: Device) throws -> Secret {
    let echo = try Echo(terminal.input)
    let suspension = Suspension()
    defer {
      echo.restore()
      suspension.end()
      try? terminal.write("\n")
    }
    // In canonical mode, one read returns one line of at most 4096 bytes. Read it directly into locked memory.
    return try Secret(byteCount: 4096) { line in
      // Turn off the echo before the prompt, to hide an answer that is typed immediately.
      try echo.turnOff()
      while true {
        try terminal.write(prompt)
        if let count = try terminal.readLine(into: line, unless: { Suspension.hasEnded }) { return count }
        // The shell can turn on the echo while the process is stopped. Turn it off again, and discard a partial line.
        try echo.turnOff(droppingInput: true)
        try terminal.write("\n")
      }
    }
  }
}

/// The input and output for questions: `/dev/tty`, or standard input and standard error if both are terminals.
private struct Device {
  let input: Int32
  let output: Int32

  /// Opens the terminal, or returns `nil` if there isn't a terminal.
  static func open() -> Device? {
    let terminal = CofferPlatform.open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
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
      CofferPlatform.close(input)
    }
  }

  func write(_ text: String) throws {
    try Array(text.utf8).withUnsafeBytes { try Terminal.write($0, to: output) }
  }

  /// Reads a line without its line end, and returns its byte count.
  ///
  /// - Parameters:
  ///   - buffer: The memory for the line.
  ///   - isInterrupted: Called regularly during the wait. If it returns `true`, this method returns `nil`.
  func readLine(
    into buffer: UnsafeMutableRawBufferPointer, unless isInterrupted: () -> Bool
  ) throws -> Int? {
    var count = 0
    while count < buffer.count {
      // Wait for a short time, because a signal that another thread receives doesn't interrupt a read in this thread.
      let ready = coffer_wait_until_readable(input, 100)
      if isInterrupted() { return nil }
      if ready == 0 || ready < 0 && errno == EINTR { continue }
      let got = CofferPlatform.read(input, buffer.baseAddress! + count, buffer.count - count)
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

extension Secret {
  /// Returns whether two secrets are equal. Takes constant time.
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
