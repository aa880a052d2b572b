import CofferPlatform
import Foundation
import Testing

/// A shell in a real terminal, tmux, with screens as text.
final class Tmux {
  static let isPossible: Bool = {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .contains { FileManager.default.isExecutableFile(atPath: "\($0)/tmux") }
  }()

  private let sandbox: Sandbox
  /// The shell's reports of a command stopped by SIGSTOP or SIGTSTP.
  private static let stops = ["ended: \(128 + SIGSTOP)", "ended: \(128 + SIGTSTP)"]

  /// Opens a terminal with a shell in the sandbox's folder, where `dbtool` is the tested command.
  init(_ sandbox: Sandbox, columns: Int = 80, rows: Int = 14) throws {
    self.sandbox = sandbox
    var variables = sandbox.environment.merging(["LC_ALL": "C.UTF-8", "TZ": "UTC"]) { mine, _ in mine
    }
    variables["HISTFILE"] = "/dev/null"
    let settings = variables.flatMap { ["-e", "\($0)=\($1)"] }
    try run(
      ["-u", "-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "-c", sandbox.directory.path]
        + settings + ["exec bash --noprofile --norc"])
    let folder = sandbox.directory.appending(path: ".bin")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try? FileManager.default.createSymbolicLink(
      at: folder.appending(path: "dbtool"), withDestinationURL: URL(filePath: Sandbox.dbtool))
    enter("PS1='READY''> '; PATH=\(folder.path):$PATH; clear")
    waitFor("READY>")
  }

  deinit {
    _ = try? run(["kill-server"])
  }

  /// Types literal text.
  func type(_ text: String) {
    _ = try? run(["send-keys", "-l", text])
  }

  /// Presses keys by their tmux names, such as `Enter`, `Escape`, `C-z`, `PageDown` or a letter.
  func press(_ keys: String...) {
    _ = try? run(["send-keys"] + keys)
  }

  func enter(_ command: String) {
    type(command)
    press("Enter")
  }

  /// The screen's rows without trailing spaces.
  var screen: [String] {
    rows(of: (try? run(["capture-pane", "-p"])) ?? "")
  }

  /// The screen with its style sequences.
  var styled: String { (try? run(["capture-pane", "-p", "-e"])) ?? "" }

  /// The screen and its scrollback.
  var history: String { (try? run(["capture-pane", "-p", "-S", "-"])) ?? "" }

  var isAlternate: Bool {
    ((try? run(["display-message", "-p", "#{alternate_on}"])) ?? "").hasPrefix("1")
  }

  /// The shell's running child process.
  var child: pid_t? {
    guard let shell = try? run(["display-message", "-p", "#{pane_pid}"]).split(separator: "\n").first,
      let children = try? String(contentsOfFile: "/proc/\(shell)/task/\(shell)/children", encoding: .utf8)
    else { return nil }
    return children.split(separator: " ").first.flatMap { pid_t($0) }
  }

  /// Sets a window option of tmux.
  func set(_ option: String, _ value: String) throws {
    try run(["set-option", "-gw", option, value])
  }

  /// Starts appending terminal output to a file in the sandbox.
  func record(to name: String) throws {
    try run(["pipe-pane", "cat >> \(name)"])
  }

  func resize(columns: Int, rows: Int) throws {
    try run(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
  }

  /// Waits until the screen meets a condition, and fails if the shell reports an unexpected end of the command as
  /// `ended: N` in a separate row.
  @discardableResult
  func wait(
    _ location: SourceLocation = #_sourceLocation, until isWanted: ([String]) -> Bool
  ) -> [String] {
    var rows: [String] = []
    for _ in 0..<10_000 {
      rows = screen
      if isWanted(rows) { return rows }
      if rows.contains(where: { $0.hasPrefix("ended: ") && !Self.stops.contains($0) }), !isWanted(screen) {
        Issue.record("the command ended:\n\(rows.joined(separator: "\n"))", sourceLocation: location)
        return rows + Array(repeating: "", count: 100)
      }
    }
    Issue.record("the screen stayed:\n\(rows.joined(separator: "\n"))", sourceLocation: location)
    return rows + Array(repeating: "", count: 100)
  }

  /// Waits until the screen contains a text, and returns the screen.
  @discardableResult
  func waitFor(_ text: String, _ location: SourceLocation = #_sourceLocation) -> [String] {
    wait(location) { $0.contains { $0.contains(text) } }
  }

  private func rows(of text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { row in
      String(row.reversed().drop { $0 == " " }.reversed())
    }
  }

  @discardableResult
  private func run(_ words: [String]) throws -> String {
    let output = sandbox.path(".tmux-\(UUID().uuidString)")
    defer { unlink(output) }
    // Foundation's Process would wait for tmux's server, because the server keeps the descriptors.
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    closeAllButStreams(&actions)
    // Reset the signal mask, because the shell and its commands would inherit blocked signals from a test thread.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let variables = ["PATH=\(path)", "TMUX_TMPDIR=\(sandbox.directory.path)", "LC_ALL=C.UTF-8", "TERM=xterm-256color"]
    var arguments = (["tmux"] + words).map { strdup($0) } + [nil]
    var environment = variables.map { strdup($0) } + [nil]
    defer { (arguments + environment).forEach { free($0) } }
    var process: pid_t = 0
    guard posix_spawnp(&process, "tmux", &actions, &attributes, &arguments, &environment) == 0 else {
      throw POSIXError(.ENOENT)
    }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    guard status == 0 else { throw POSIXError(.EIO) }
    return String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self)
  }
}
