internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords

/// Cycles of parents, which arise when stores that didn't know each other's moves are merged.
struct ParentCycles {
  private let here: PairedStore
  private let replicas: JointReplicas

  init(_ here: PairedStore, _ replicas: JointReplicas) {
    (self.here, self.replicas) = (here, replicas)
  }

  private var transaction: StoreTransaction { here.transaction }

  /// Cuts each cycle by removing the parent of the document that was placed last.
  ///
  /// - Parameter placed: The documents with new parents, one of which is in each cycle.
  func cut(from placed: [Int64]) throws {
    for id in placed {
      var path = [id]
      var next = try transaction.unverifiedFields(of: DocumentID(id))?.parent
      while let parent = next, !path.contains(parent) {
        path.append(parent)
        next = try transaction.unverifiedFields(of: DocumentID(parent))?.parent
      }
      guard let start = next.flatMap({ path.firstIndex(of: $0) }) else { continue }
      var latest: (id: Int64, dot: Dot, uid: UniqueID)?
      for id in path[start...] {
        let history = try here.document(id, acceptingNewer: true).history
        let dot = history.decodedDots.place
        if let known = latest {
          let isLater = known.dot == dot ? known.uid < history.uid : replicas.isBefore(known.dot, dot)
          guard isLater else { continue }
        }
        latest = (id, dot, history.uid)
      }
      if let latest { try transaction.writer.setParentRow(of: DocumentID(latest.id), to: nil) }
    }
  }
}
