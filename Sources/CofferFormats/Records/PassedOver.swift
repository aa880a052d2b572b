/// The directory entries that the reader skipped, counted by reason.
public struct PassedOver: Hashable, Sendable {
  /// The number of symbolic links, unless the caller follows them, and of link loops.
  public internal(set) var links = 0
  /// The number of names that begin with a dot.
  public internal(set) var hidden = 0
  /// The number of pipes, sockets and devices.
  public internal(set) var special = 0
  /// The number of files that belong to databases and stores that this process has open. Reading them would release
  /// their locks.
  public internal(set) var databases = 0

  /// Creates counts of zero.
  public init() {}
}
