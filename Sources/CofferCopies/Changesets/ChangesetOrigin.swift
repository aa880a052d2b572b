internal import CofferEngine
package import CofferRecords
internal import CofferSealing

/// What the sender of a changeset included when it made it (Sync-Format, "Payload").
package struct ChangesetOrigin: Sendable {
  /// The sender's replicas. The dots of the changeset have their numbers.
  package let replicas: Replicas
  /// The counters, by the replicas' numbers, of the commits whose changes the changeset leaves out. Whoever lacks one of
  /// them can't take the changeset yet.
  package let base: [UInt64]
  /// The attachments that the changeset names without their contents.
  package internal(set) var absentContents: Set<UniqueID> = []

  package init(replicas: Replicas, base: [UInt64]) {
    precondition(replicas.entries.count == base.count, "internal error: a changeset's base has another length")
    self.replicas = replicas
    self.base = base
  }

  var commits: Commits { Commits(replicas, own: replicas.ownReplica.marks) }

  /// Returns whether the changeset leaves out the changes of a commit.
  func isInBase(_ dot: Dot) -> Bool { dot.isZero || dot.counter <= base[Int(dot.replica)] }

  // MARK: Vectors

  /// Returns whether a store includes all commits that the changeset builds on.
  package func isApplicable(to own: Replicas) -> Bool { isIncluded(base, in: own) }

  /// Returns whether a store includes the changeset already.
  package func isIncluded(in own: Replicas) -> Bool { isIncluded(replicas.entries.map(\.counter), in: own) }

  private func isIncluded(_ counters: [UInt64], in own: Replicas) -> Bool {
    zip(replicas.entries, counters).allSatisfy { entry, counter in
      counter == 0 || own.number(of: entry.identity).map { own[$0].counter >= counter } ?? false
    }
  }

  // MARK: The written form

  var bytes: [UInt8] {
    var builder = ByteBuilder()
    let replicas = replicas.bytes
    builder.append(UInt32(replicas.count))
    builder.append(bytes: replicas)
    for counter in base { builder.append(varint: counter) }
    return builder.bytes
  }

  /// Reads the written form, or returns `nil` for invalid bytes.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let count: UInt32 = reader.integer(), let own = reader.bytes(Int(count)),
      let replicas = Replicas(own, generation: UInt64(StoreFormat.maximumGeneration)), !replicas.isNewer
    else { return nil }
    var base: [UInt64] = []
    for entry in replicas.entries {
      guard let counter = reader.varint(), counter <= entry.counter else { return nil }
      base.append(counter)
    }
    guard reader.isAtEnd else { return nil }
    self.init(replicas: replicas, base: base)
  }
}

/// The kinds of a changeset's entries.
enum ChangesetEntry: UInt8 {
  case end, origin, collection, deletion, document, attachment, content
}

/// The bytes of a changeset in order, which are proved before they're given out.
package protocol ChangesetBytes: AnyObject {
  /// Returns the next bytes.
  ///
  /// - Throws: `damaged` if there are fewer.
  func read(_ count: Int) throws(StoreError) -> [UInt8]
}
