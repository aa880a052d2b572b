internal import Coffer
internal import CofferEngine
public import CofferFoundation
internal import CofferRecords

/// A program that copies a store's commits to a replica, and can confirm that the replica is complete.
///
/// ```swift
/// let anchor = try store.confirm(by: .litestream(socket: URL(filePath: "/run/litestream.sock")))
/// ```
///
/// The program doesn't need a key, because it only copies sealed pages.
public struct ReplicationService: Sendable {
  /// The program's name, for error messages.
  public let name: String
  /// A closure that waits until the replica contains all current commits of the store, within the given time.
  let synchronize: @Sendable (_ path: String, _ timeout: Duration) throws -> Void

  /// Creates a service that calls your code.
  ///
  /// - Parameters:
  ///   - name: The program's name, for error messages.
  ///   - synchronize: Returns when the replica contains all current commits of the store at the URL. Throws if it isn't
  ///     complete after the given duration, or if this is unknown.
  public init(_ name: String, synchronize: @escaping @Sendable (URL, Duration) throws -> Void) {
    self.name = name
    self.synchronize = { path, timeout in try synchronize(URL(filePath: path), timeout) }
  }

  /// Connects to Litestream 0.5 through the control socket that its configuration enables (`socket:`).
  ///
  /// The database is identified by its file, so Litestream's configuration can use another path.
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
  /// Returns the current state's anchor after the service has confirmed that the replica contains this state.
  func confirm(by service: ReplicationService, timeout: Duration) throws(StoreError) -> StoreAnchor {
    try connections.requireOutsideScope()
    let anchor = try reading { transaction throws(StoreError) in try transaction.anchor() }
    do {
      try service.synchronize(path, timeout)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.notConfirmed, "\(service.name) did not confirm the commits: \(error)")
    }
    // The confirmation is invalid if the service copies another file with this name.
    try connections.place.requireSameFile()
    log.info("\(service.name) confirmed generation \(anchor.generation)")
    return anchor
  }
}
