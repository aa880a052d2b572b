internal import CofferRecords
public import FoundationEssentials

/// A program that copies each commit of a store to a replica, and can be asked whether the replica has them all.
///
/// ```swift
/// let anchor = try await store.confirm(by: .litestream(socket: URL(filePath: "/run/litestream.sock")))
/// ```
///
/// Such a program needs no key: it sees sealed pages.
public struct ReplicationService: Sendable {
  /// The program's name, for errors.
  public let name: String
  /// Makes the replica hold every commit until now of the store at the path, within the time.
  let synchronize: @Sendable (_ path: String, _ timeout: Duration) throws -> Void

  /// A program that your code asks.
  ///
  /// - Parameters:
  ///   - name: the program's name, for errors.
  ///   - synchronize: returns once the replica holds every commit until now of the store at the URL; throws if that is
  ///     not so after the duration, or not known.
  public init(_ name: String, synchronize: @escaping @Sendable (URL, Duration) throws -> Void) {
    self.name = name
    self.synchronize = { path, timeout in try synchronize(URL(filePath: path), timeout) }
  }

  /// Litestream 0.5, through the control socket that its configuration enables (`socket:`).
  ///
  /// The database is found in Litestream's list by its file: the configuration may name it by another path.
  public static func litestream(socket: URL) -> ReplicationService {
    ReplicationService(name: "Litestream") { path, timeout in
      try LitestreamSocket(path: socket.path, timeout: timeout).synchronize(path)
    }
  }

  private init(name: String, synchronize: @escaping @Sendable (String, Duration) throws -> Void) {
    self.name = name
    self.synchronize = synchronize
  }
}

extension StoreEngine {
  /// The anchor of the present state, after the service has confirmed that the replica holds it.
  func confirm(by service: ReplicationService, timeout: Duration) throws(StoreError) -> Anchor {
    try connections.requireOutsideOfWrite()
    let anchor = try reading { transaction throws(StoreError) in try transaction.anchor() }
    do {
      try service.synchronize(path, timeout)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.notConfirmed, "\(service.name) did not confirm the commits: \(error)")
    }
    // A service that copies another file under this name has confirmed nothing.
    try connections.place.requireSameFile()
    log.info("\(service.name) confirmed generation \(anchor.generation)")
    return anchor
  }
}
