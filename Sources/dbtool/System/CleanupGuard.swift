internal import Glibc

/// Removes a folder of plain text, should this process be killed before it could do so itself.
///
/// A shell waits at the end of a pipe: a line means that all is done, its end without one that nobody is left. Not a
/// promise: whoever kills that shell too, or the machine, leaves the folder.
final class CleanupGuard {
  private var pipe: (reading: Int32, writing: Int32) = (-1, -1)
  private var shell: pid_t = 0
  private let outlives: Bool

  /// - Parameter outlives: children that are started meanwhile may go on using the folder when this process is gone.
  init(over folder: String, untilChildrenEnd outlives: Bool = false) {
    self.outlives = outlives
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { return }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    pipe = (ends[0], ends[1])
    start(folder)
    close(pipe.reading)
    if outlives { _ = fcntl(pipe.writing, F_SETFD, 0) }
  }

  deinit {
    release()
  }

  /// Makes a folder by a name that nobody has, watched from before it is there.
  ///
  /// - Parameter place: what an error names.
  static func makeFolder(_ prefix: String, for place: String, untilChildrenEnd outlives: Bool = false) throws -> (
    path: String, cleanup: CleanupGuard
  ) {
    let path = prefix + String(UInt64.random(in: .min ... .max), radix: 36)
    let cleanup = CleanupGuard(over: path, untilChildrenEnd: outlives)
    guard mkdir(path, 0o700) == 0 else {
      let reason = errno
      cleanup.release()
      throw Failure.system(reason, place)
    }
    return (path, cleanup)
  }

  /// The folder is gone, or has become what was asked for.
  func release() { end(removing: false) }

  /// Has the shell remove the folder at once, where this process can't; children that use it are waited for by nobody.
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
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pipe.reading, STDIN_FILENO)
    // Whoever reads our output must not wait for this one.
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Away from the terminal, whose signals are meant for this process.
    posix_spawnattr_setflags(&attributes, Int16(Self.newSession))
    let arguments = CStrings(["sh", "-c", #"read -r line || rm -rf -- "$1""#, "sh", folder])
    let variables = CStrings(["PATH=/usr/bin:/bin"])
    if posix_spawn(&shell, "/bin/sh", &actions, &attributes, arguments.pointers, variables.pointers) != 0 { shell = 0 }
  }

  /// POSIX_SPAWN_SETSID of spawn.h.
  private static let newSession: Int32 = 0x80
}
