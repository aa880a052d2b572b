internal import CofferSQLite
package import CofferSealing

/// A store's replicas for one connection, which are reread when the state refers to another row.
package final class ReplicaTable {
  private let database: StoreDatabase
  private var root: RootKey
  private var state: (digest: TextDigest, generation: UInt64)?
  private var cached: (digest: TextDigest, replicas: Replicas)?

  package init(_ database: StoreDatabase, _ root: RootKey) {
    self.database = database
    self.root = root
  }

  package func use(_ root: RootKey) {
    self.root = root
    cached = nil
  }

  /// Notes the state of the transaction that uses the table.
  package func follow(_ state: StoreState) {
    self.state = (state.replicasDigest, state.generation)
  }

  /// Returns the followed state's replicas.
  ///
  /// - Throws: `damaged` if the row is invalid or doesn't match the state. `otherFormat` for entries of a later
  ///   version.
  package func current() throws(StoreError) -> Replicas {
    guard let state else { preconditionFailure("internal error: replicas were read before the state") }
    if let cached, cached.digest == state.digest { return cached.replicas }
    let rows = try database.rows(SQL.replicas, ofAtMost: StoreFormat.maximumSealedReplicas)
    guard rows.count == 1, case .blob(let sealed) = rows[0][0], sealed.count <= StoreFormat.maximumSealedReplicas else {
      throw .damagedStore("its replicas are gone or out of their bounds")
    }
    let replicas = try Replicas(sealed, digest: state.digest, generation: state.generation, under: root)
    cached = (state.digest, replicas)
    return replicas
  }

  /// Returns whether a program without a key has copied the file over another file since the last write.
  package func isRestored() throws(StoreError) -> Bool {
    switch try database.integer(SQL.isRestored) {
    case 0: false
    case 1: true
    default: throw .damagedStore("its replicas are gone or out of their bounds")
    }
  }

  func replace(_ replicas: Replicas, digest: TextDigest) {
    state?.digest = digest
    cached = (digest, replicas)
  }
}
