internal import CofferPlatform

/// Deletes a folder of plaintext if this process is killed.
///
/// Works only if other users can't rename the folder, because they could give its name to another folder of this user.
///
/// A shell reads from a pipe. A line means that the work is done. The end of the file without a line means that every
/// process at the other end has ended. If the shell is also killed, or the machine fails, the folder remains.
final class CleanupGuard {
  private var pipe: (reading: Int32, writing: Int32) = (-1, -1)
  private var shell: pid_t = 0
  private let outlives: Bool

  /// - Parameter outlives: Whether children of this process can use the folder after the process ends.
  init(over folder: String, untilChildrenEnd outlives: Bool = false) {
    self.outlives = outlives
    guard TemporaryEntry.othersCannotRename(in: OutputFile.folder(of: folder)), let pipe = try? Shell.pipe() else {
      return
    }
    self.pipe = pipe
    start(folder)
    close(pipe.reading)
    if outlives { _ = fcntl(pipe.writing, F_SETFD, 0) }
  }

  deinit {
    release()
  }

  /// Creates a folder at a temporary path. The guard starts before the folder exists.
  ///
  /// - Parameter place: The path for errors.
  static func makeFolder(
    at path: String, for place: String, untilChildrenEnd outlives: Bool = false
  ) throws -> (entry: TemporaryEntry, cleanup: CleanupGuard) {
    let cleanup = CleanupGuard(over: path, untilChildrenEnd: outlives)
    guard let entry = TemporaryEntry(folder: path) else {
      let reason = errno
      cleanup.release()
      throw Failure.system(reason, place)
    }
    if outlives { entry.shareWithChildren() }
    return (entry, cleanup)
  }

  /// Ends the guard after the folder is removed or renamed to its target.
  func release() { end(removing: false) }

  /// Lets the shell remove the folder now, because this process can't. Doesn't wait for children that use it.
  func removeFolder() { end(removing: true) }

  private func end(removing: Bool) {
    guard pipe.writing >= 0 else { return }
    if !removing { _ = write(pipe.writing, "\n", 1) }
    close(pipe.writing)
    pipe.writing = -1
    guard shell > 0, !(removing && outlives) else { return }
    while waitpid(shell, nil, 0) < 0, errno == EINTR {}
  }

  private func start(_ folder: String) {
    let words = CStrings(["sh", "-c", #"read -r line || rm -rf -- "$1""#, "sh", folder])
    let variables = CStrings(["PATH=/usr/bin:/bin"])
    // The reader of our output must not wait for the shell to end.
    let start = coffer_start(
      input: pipe.reading, output: -1, has_empty_input: false, has_no_output: true, has_own_session: true,
      default_signals: nil)
    if coffer_start_shell(&shell, start, words.pointers, variables.pointers) != 0 { shell = 0 }
  }
}
