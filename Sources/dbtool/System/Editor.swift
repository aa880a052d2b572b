internal import CofferFoundation
internal import CofferPlatform

/// The user's editor, from `$VISUAL` or else `$EDITOR`: a command line for `/bin/sh`, followed by the file.
struct Editor {
  let command: String

  init() throws {
    let variables = ProcessInfo.processInfo.environment
    let commands = ["VISUAL", "EDITOR"].compactMap { variables[$0] }.filter { !$0.isEmpty }
    guard let command = commands.first else {
      throw Failure(.failed, kind: "no-editor", "no editor is set", hint: "set VISUAL or EDITOR, such as EDITOR=nano")
    }
    self.command = command
  }

  /// Runs the editor on a file until it ends. Ctrl-C goes to the editor. SIGTERM and SIGHUP also end it.
  ///
  /// - Throws: An error if the editor can't be run, if it exits with an error, or after a signal.
  func run(on path: String) throws {
    var former = sigaction()
    var ignored = sigaction()
    coffer_set_handler(&ignored, SIG_IGN)
    sigaction(SIGINT, &ignored, &former)
    defer { sigaction(SIGINT, &former, nil) }
    let child = try Shell.spawn(command + " \"$@\"", [path], resetting: [SIGPIPE, SIGINT])
    var status: Int32 = 0
    var patience = 20
    while true {
      let ended = waitpid(child, &status, WNOHANG)
      if ended == child { break }
      guard ended == 0 || errno == EINTR else { throw Failure.system(errno, "the editor") }
      if Interrupt.isRequested {
        // Kill an editor that ignores signals, because the text must be wiped.
        kill(child, patience > 0 ? SIGHUP : SIGKILL)
        patience -= 1
      }
      // Poll the flag, because another thread can receive the signal.
      poll(nil, 0, 50)
    }
    try Interrupt.check()
    if let failure = Shell.failure(status) {
      throw Failure(.failed, kind: "editor-failed", "the editor \(failure): nothing was changed")
    }
  }
}
