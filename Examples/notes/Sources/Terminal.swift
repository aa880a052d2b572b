import Coffer
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Reads from a person or a pipe, and prints.
enum Terminal {
  // MARK: Passphrases

  /// Asks twice for the passphrase of a new store.
  static func newPassphrase() throws -> Secret {
    let first = try passphrase("New passphrase: ")
    let second = try passphrase("The same again: ")
    let isSame = first.withUnsafeBytes { one in second.withUnsafeBytes { one.elementsEqual($0) } }
    guard isSame, first.count > 0 else {
      throw StoreError(.keyNeeded, isSame ? "an empty passphrase protects nothing" : "the two passphrases differ")
    }
    return first
  }

  /// Asks without echo. The bytes go straight into locked memory; no `String` is made of them.
  static func passphrase(_ question: String) throws -> Secret {
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else {
      throw StoreError(
        .keyNeeded, "a passphrase is needed, and there is no terminal to ask on", hint: "give a --key-file")
    }
    defer { close(terminal) }
    var before = termios()
    guard tcgetattr(terminal, &before) == 0 else { throw POSIXError(.ENOTTY) }
    var silent = before
    // Without ISIG, Ctrl-C is a byte that is read. As a second end of lines (VEOL), it ends the question at once.
    let (controlC, veol) = (UInt8(3), Int(VEOL))
    silent.c_lflag &= ~tcflag_t(ECHO | ISIG)
    withUnsafeMutableBytes(of: &silent.c_cc) { $0[veol] = controlC }
    tcsetattr(terminal, TCSAFLUSH, &silent)
    defer {
      tcsetattr(terminal, TCSAFLUSH, &before)
      _ = write(terminal, "\n", 1)
    }
    _ = write(terminal, question, question.utf8.count)
    return try Secret(byteCount: 4096) { memory in
      let count = read(terminal, memory.baseAddress, memory.count)
      guard count > 0, memory[count - 1] != controlC else {
        throw StoreError(.cancelled, "no passphrase was typed")
      }
      return memory[count - 1] == UInt8(ascii: "\n") ? count - 1 : count
    }
  }

  // MARK: Texts

  /// Standard input up to its end.
  static func readText() throws -> String {
    let bytes = try FileHandle.standardInput.readToEnd() ?? Data()
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw StoreError(.notText, "standard input is no UTF-8")
    }
    guard !text.isEmpty else { throw StoreError(.emptyText, "standard input is empty") }
    return text
  }

  /// Prints at once, also into a pipe.
  static func print(_ text: String, end: String = "\n") {
    FileHandle.standardOutput.write(Data((text + end).utf8))
  }

  private static let isTerminal = isatty(STDOUT_FILENO) == 1

  /// One line of text with its hits, ranges of UTF-8: in reverse video on a terminal, else in brackets.
  static func highlighted(_ text: String, _ hits: [Range<Int>]) -> String {
    let (begin, end) = isTerminal ? ("\u{1B}[7m", "\u{1B}[0m") : ("[", "]")
    let bytes = Array(text.utf8)
    func part(_ range: Range<Int>) -> String {
      printable(String(decoding: bytes[range], as: UTF8.self), onOneLine: true)
    }
    var line = ""
    var position = 0
    for hit in hits {
      line += part(position..<hit.lowerBound) + begin + part(hit) + end
      position = hit.upperBound
    }
    return line + part(position..<bytes.count)
  }

  /// On a terminal, without the control characters by which a text could change what the terminal shows.
  static func printable(_ text: String, onOneLine: Bool = false) -> String {
    let text = onOneLine ? text.replacing("\n", with: " ") : text
    guard isTerminal else { return text }
    return String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t" ? "\u{FFFD}" : scalar
        }))
  }
}
