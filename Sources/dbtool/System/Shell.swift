internal import CofferFoundation
internal import CofferPlatform

/// Runs the user's own commands by `/bin/sh`: an editor, a command that prints a secret.
enum Shell {
  /// Starts a shell with our environment.
  ///
  /// - Parameters:
  ///   - script: the command; `arguments` are its `$@`.
  ///   - signals: signals that this process ignores and the command must not: exec inherits ignored signals.
  ///   - input: replaces our standard input.
  ///   - output: replaces our standard output.
  static func spawn(
    _ script: String, _ arguments: [String] = [], resetting signals: [Int32], input: Int32? = nil,
    output: Int32? = nil
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    } else if KeyDescriptors.includeStandardInput {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    }
    if let output { posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for signal in signals { sigaddset(&defaults, signal) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var child: pid_t = 0
    let words = CStrings(["sh", "-c", script, "sh"] + arguments)
    let variables = CStrings(ProcessInfo.processInfo.environment.map { "\($0)=\($1)" })
    let result = posix_spawn(&child, "/bin/sh", &actions, &attributes, words.pointers, variables.pointers)
    guard result == 0 else { throw Failure.system(result, "/bin/sh") }
    return child
  }

  /// Makes a pipe whose ends no command inherits: its input would never end, and another one could read a secret.
  static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw Failure.system(errno, "a pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// A word as a shell reads it, in quotes where it needs them.
  static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...: true
      default: "-_./+:@%,".utf8.contains(byte)
      }
    }
    return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }

  /// Describes the failure of a command by its status from `waitpid`; nil for success.
  static func failure(_ status: Int32) -> String? {
    guard status != 0 else { return nil }
    return status & 0x7F == 0 ? "ended with \((status >> 8) & 0xFF)" : "was ended by signal \(status & 0x7F)"
  }
}

/// Strings for C: an array of pointers that ends with nil.
final class CStrings {
  let pointers: [UnsafeMutablePointer<CChar>?]

  init(_ strings: [String]) {
    pointers = strings.map { strdup($0) } + [nil]
  }

  deinit {
    for pointer in pointers { free(pointer) }
  }
}
