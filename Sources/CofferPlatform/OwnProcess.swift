package enum OwnProcess {
  /// A number that differs between this process and the children that it forks.
  ///
  /// Process IDs alone can be equal, if a child has a new namespace for process IDs.
  package static var number: UInt64 { number(id: getpid()) }

  /// Returns the number for a process ID of this process.
  package static func number(id: pid_t) -> UInt64 { coffer_fork_generation() << 32 | UInt64(UInt32(bitPattern: id)) }
}
