/// Entries of a folder that are not read, by the reason.
public struct PassedOver: Hashable, Sendable {
  /// Symbolic links, which are not followed unless the caller wants it, and loops of them.
  public internal(set) var links = 0
  /// Names with a dot in front.
  public internal(set) var hidden = 0
  /// Pipes, sockets and devices.
  public internal(set) var special = 0
  /// Files of databases and stores that this process has open, whose locks reading them would end.
  public internal(set) var databases = 0

  /// None passed over.
  public init() {}
}
