internal import CofferDocuments
internal import CofferPlatform
internal import CofferTerminal

/// Runs the user's own commands with `/bin/sh`, such as an editor or a command that prints a secret.
enum Shell {
  /// Starts a shell with this process's environment.
  ///
  /// - Parameters:
  ///   - script: The command. `arguments` are its `$@`.
  ///   - signals: The signals that this process ignores and the command must handle, because exec inherits ignored signals.
  ///   - input: The command's standard input, or `nil` to inherit it.
  ///   - output: The command's standard output, or `nil` to inherit it.
  static func spawn(
    _ script: String, _ arguments: [String] = [], resetting signals: [Int32], input: Int32? = nil,
    output: Int32? = nil
  ) throws -> pid_t {
    let words = CStrings(["sh", "-c", script, "sh"] + arguments)
    var child: pid_t = 0
    let result = (signals + [0]).withUnsafeBufferPointer { signals in
      coffer_start_shell(
        &child,
        coffer_start(
          input: input ?? -1, output: output ?? -1,
          has_empty_input: input == nil && KeyDescriptors.includeStandardInput, has_no_output: false,
          has_own_session: false, default_signals: signals.baseAddress), words.pointers, nil)
    }
    guard result == 0 else { throw Failure.system(result, "/bin/sh") }
    return child
  }

  /// Creates a pipe that commands don't inherit. Otherwise, its input would never end, and a command could read a secret.
  static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard CofferPlatform.pipe(&ends) == 0 else { throw Failure.system(errno, "a pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Returns a word in a form that a shell reads, with quotes if necessary.
  static func quoted(_ word: String) -> String {
    // A message escapes these characters, so they're written as a shell such as bash or zsh reads them.
    guard escapingControls(word) == word else { return "$'" + word.utf8.map(escaped).joined() + "'" }
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...: true
      default: "-_./+:@%,".utf8.contains(byte)
      }
    }
    return isPlain && !word.isEmpty ? word : "'" + word.replacing(ascii: "'", with: "'\\''") + "'"
  }

  /// Returns a byte between `$'` and `'`, in octal digits unless it's ordinary ASCII.
  private static func escaped(_ byte: UInt8) -> String {
    let meansItself = (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "'") && byte != UInt8(ascii: "\\")
    guard !meansItself else { return String(UnicodeScalar(byte)) }
    let digits = String(byte, radix: 8)
    return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
  }

  /// Returns a path in a form that a shell reads and that commands don't take for an option.
  static func quoted(path: String) -> String { quoted(InputFile.argument(path)) }

  /// Returns a description of a failed command by its status from `waitpid`, or `nil` for success.
  static func failure(_ status: Int32) -> String? {
    guard status != 0 else { return nil }
    return status & 0x7F == 0 ? "ended with \((status >> 8) & 0xFF)" : "was ended by signal \(status & 0x7F)"
  }
}

/// An array of C strings that ends with `nil`.
final class CStrings {
  let pointers: [UnsafeMutablePointer<CChar>?]

  init(_ strings: [String]) {
    pointers = strings.map { strdup($0) } + [nil]
  }

  deinit {
    for pointer in pointers { free(pointer) }
  }
}
