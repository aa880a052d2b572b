internal import CofferEngine
package import CofferRecords
internal import CofferSealing

/// What the sender of a changeset included when it made it (Sync-Format, "Payload").
package struct ChangesetOrigin: Sendable {
  /// The sender's replicas. The dots of the changeset have their numbers.
  package private(set) var replicas: Replicas
  /// The counters, by replica number, of the commits whose changes the changeset omits. A store that lacks one of these
  /// commits can't merge the changeset yet.
  package private(set) var base: [UInt64]
  /// The sender's own counter.
  package let ownCounter: UInt64
  /// The commits with different names here and at the sender, by replica number.
  private var renames: [(old: UInt32, counter: UInt64, new: UInt32)] = []

  package init(replicas: Replicas, base: [UInt64]) {
    precondition(replicas.entries.count == base.count, "internal error: a changeset's base has another length")
    self.replicas = replicas
    self.base = base
    ownCounter = replicas.ownReplica.counter
  }

  /// Gives a replica's commits after a counter another name.
  mutating func rename(_ identity: UniqueID, after counter: UInt64, as name: UniqueID) throws(StoreError) {
    guard let old = replicas.number(of: identity), case let entry = replicas[old], entry.counter > counter else {
      return
    }
    replicas[old].counter = counter
    replicas[old].marks.removeAll { $0.counter > counter }
    var known = replicas.number(of: name)
    if known == nil {
      known = try replicas.add(Replica(identity: name, counter: 0, range: entry.range, rose: entry.rose))
      base.append(0)
    }
    let new = known!
    replicas[new].counter = max(replicas[new].counter, entry.counter)
    replicas[new].marks = entry.marks.filter { $0.counter > counter }
    if base[Int(old)] > counter {
      base[Int(new)] = max(base[Int(new)], base[Int(old)])
      base[Int(old)] = counter
    }
    renames.append((old, counter, new))
  }

  /// Returns a commit of the sender with its name in this store.
  func renamed(_ dot: Dot) -> Dot {
    renames.reduce(dot) { dot, rename in
      dot.replica == rename.old && dot.counter > rename.counter && !dot.isZero
        ? Dot(replica: rename.new, counter: dot.counter) : dot
    }
  }

  var hasRenames: Bool { !renames.isEmpty }

  var commits: Commits { Commits(replicas, own: replicas.ownReplica.marks) }

  /// Returns whether the changeset omits a commit's changes.
  ///
  /// - Throws: `setMismatch` for an unknown replica's commit, which only a key holder can have written to a row.
  func isInBase(_ dot: Dot) throws(StoreError) -> Bool {
    if dot.isZero { return true }
    guard dot.replica < base.count else { throw JointReplicas.unknownDot }
    return dot.counter <= base[Int(dot.replica)]
  }

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

/// A changeset's bytes, which are verified before they're returned.
package protocol ChangesetBytes: AnyObject {
  /// The offset of the next byte.
  var offset: Int { get }
  /// Continues at another offset.
  func move(to offset: Int)
  /// Returns the next bytes.
  ///
  /// - Throws: `damaged` if there are fewer.
  func read(_ count: Int) throws(StoreError) -> [UInt8]
}
