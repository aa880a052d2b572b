package import Coffer
package import CofferRecords

@testable import CofferEngine

extension DocumentStore {
  /// The replicas as the file holds them.
  package func replicas() throws(StoreError) -> Replicas {
    try engine.reading { transaction throws(StoreError) in try transaction.replicas }
  }
}
