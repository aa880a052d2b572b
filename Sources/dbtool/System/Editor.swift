internal import CofferFoundation
internal import CofferPlatform

/// The user's editor: `$VISUAL`, else `$EDITOR`, a command line for `/bin/sh` with the file behind it.
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

  /// Runs it on a file until it ends. Ctrl-C goes to the editor; SIGTERM and SIGHUP end it too.
  ///
  /// - Throws: if it can't be run or exits with an error, and after a signal.
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
        // An editor that ignores signals must not prevent the wiping of the text.
        kill(child, patience > 0 ? SIGHUP : SIGKILL)
        patience -= 1
      }
      // Another thread may receive the signal, so that the flag is polled.
      poll(nil, 0, 50)
    }
    try Interrupt.check()
    if let failure = Shell.failure(status) {
      throw Failure(.failed, kind: "editor-failed", "the editor \(failure): nothing was changed")
    }
  }
}
