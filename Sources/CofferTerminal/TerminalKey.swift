internal import CofferPlatform

/// A key press.
package enum TerminalKey: Equatable {
  case character(Character)
  /// A letter with Ctrl, in lower case.
  case control(Character)
  case enter, tab, backTab, escape, backspace, delete
  case up, down, left, right, pageUp, pageDown, home, end
}

/// Decodes the input of a terminal in raw mode: UTF-8, and the sequences of xterm for other keys.
package struct TerminalKeys {
  private var bytes: [UInt8] = []
  /// The keys that were typed during long work.
  private var kept: [TerminalKey] = []

  package init() {}

  /// Returns whether Escape or Ctrl-C was typed during long work. Keeps other keys for ``next(within:)``.
  ///
  /// - Parameter others: Keys that also stop the work. They're kept, too.
  package mutating func isStopRequested(orBy others: [TerminalKey] = []) throws -> Bool {
    while isTyped {
      guard let key = try decodeNext(within: 0) else { continue }
      if key == .escape || key == .control("c") { return true }
      kept.append(key)
      if others.contains(key) { return true }
    }
    return false
  }

  /// Returns the next key, or `nil` if no key was typed within the given time.
  ///
  /// - Parameter milliseconds: The maximum time to wait.
  /// - Throws: ``TerminalError/closed`` if the terminal was closed.
  package mutating func next(within milliseconds: Int32) throws -> TerminalKey? {
    kept.isEmpty ? try decodeNext(within: milliseconds) : kept.removeFirst()
  }

  private mutating func decodeNext(within milliseconds: Int32) throws -> TerminalKey? {
    if bytes.isEmpty, try !fill(within: milliseconds) { return nil }
    // Wait briefly, because the rest of a sequence follows its first byte immediately, unlike after the Escape key.
    while isIncomplete, try fill(within: 50) {}
    return decode()
  }

  /// A Boolean value that indicates whether a typed key waits to be read. Doesn't read from the terminal.
  package var isWaiting: Bool { !kept.isEmpty || isTyped }

  private var isTyped: Bool { !bytes.isEmpty || coffer_wait_until_readable(STDIN_FILENO, 0) > 0 }

  private mutating func fill(within milliseconds: Int32) throws -> Bool {
    guard coffer_wait_until_readable(STDIN_FILENO, milliseconds) > 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = read(STDIN_FILENO, &buffer, buffer.count)
    if count < 0, errno == EINTR || errno == EAGAIN { return false }
    guard count > 0 else { throw TerminalError.closed }
    bytes += buffer[..<count]
    return true
  }

  private var isIncomplete: Bool {
    guard let first = bytes.first else { return false }
    if first == 0x1B {
      guard bytes.count > 1 else { return true }
      switch bytes[1] {
      case UInt8(ascii: "["): return sequenceEnd == nil && bytes.count < 32
      case UInt8(ascii: "O"): return bytes.count < 3
      default: return false
      }
    }
    return bytes.count < Self.length(of: first)
  }

  /// Returns the byte count of a character with the given first byte.
  private static func length(of first: UInt8) -> Int {
    first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1
  }

  /// The index of the last byte in a CSI sequence (ECMA-48, 5.4), or `nil` if the sequence is incomplete.
  private var sequenceEnd: Int? {
    bytes.dropFirst(2).firstIndex { (0x40...0x7E).contains($0) }
  }

  private mutating func decode() -> TerminalKey? {
    guard let first = bytes.first else { return nil }
    switch first {
    case 0x1B: return decodeSequence()
    case 0x0D, 0x0A: return take(1, .enter)
    case 0x09: return take(1, .tab)
    case 0x7F, 0x08: return take(1, .backspace)
    case 0..<0x20: return take(1, .control(Character(Unicode.Scalar(first + 0x60))))
    default:
      let length = min(Self.length(of: first), bytes.count)
      let text = String(validating: bytes[..<length], as: UTF8.self)
      // Skip bytes that aren't valid UTF-8.
      return take(text == nil ? 1 : length, text?.first.map(TerminalKey.character))
    }
  }

  private mutating func take(_ count: Int, _ key: TerminalKey?) -> TerminalKey? {
    bytes.removeFirst(count)
    return key
  }

  private mutating func decodeSequence() -> TerminalKey? {
    guard bytes.count > 1 else { return take(1, .escape) }
    if bytes[1] == UInt8(ascii: "O"), bytes.count > 2 { return take(3, Self.key(final: bytes[2], parameter: "")) }
    guard bytes[1] == UInt8(ascii: "[") else { return take(1, .escape) }
    guard let end = sequenceEnd else { return take(bytes.count, nil) }
    let parameter = String(decoding: bytes[2..<end].prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
    return take(end + 1, Self.key(final: bytes[end], parameter: parameter))
  }

  private static func key(final: UInt8, parameter: String) -> TerminalKey? {
    switch (Character(Unicode.Scalar(final)), parameter) {
    case ("A", _): .up
    case ("B", _): .down
    case ("C", _): .right
    case ("D", _): .left
    case ("H", _), ("~", "1"), ("~", "7"): .home
    case ("F", _), ("~", "4"), ("~", "8"): .end
    case ("Z", _): .backTab
    case ("~", "3"): .delete
    case ("~", "5"): .pageUp
    case ("~", "6"): .pageDown
    default: nil
    }
  }
}
