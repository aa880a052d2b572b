package enum OwnProcess {
  /// A number that distinguishes this process from its forked children.
  ///
  /// Process IDs alone can be equal, because a child can have a new process ID namespace.
  package static var number: UInt64 { number(id: getpid()) }

  /// Returns the number for one of this process's process IDs.
  package static func number(id: pid_t) -> UInt64 { coffer_fork_generation() << 32 | UInt64(UInt32(bitPattern: id)) }
}
