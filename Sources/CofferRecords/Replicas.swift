package import CofferSealing
internal import CofferText

/// A replica and its known commits (FORMAT, "Replicas").
package struct Replica: Hashable, Sendable {
  /// A commit with the first bytes of its state's mark.
  package struct Mark: Hashable, Sendable {
    package var counter: UInt64
    package var mark: UInt64

    package init(counter: UInt64, mark: UInt64) {
      self.counter = counter
      self.mark = mark
    }
  }

  package static let maximumMarks = 32
  package static let ranges: ClosedRange<UInt64> = 0...8191
  /// The number of IDs in a range.
  package static let rangeCount: UInt64 = 1 << 40

  package var identity: UniqueID
  /// The counter up to which all commits are included. The own replica's counter is as of ``rose``.
  package var counter: UInt64
  /// The range from which the replica takes new IDs.
  package var range: UInt64
  /// This store's generation in which the counter last rose.
  package var rose: UInt64
  /// The marks of the last commits, in ascending order.
  package var marks: [Mark]

  package init(identity: UniqueID, counter: UInt64, range: UInt64, rose: UInt64, marks: [Mark] = []) {
    self.identity = identity
    self.counter = counter
    self.range = range
    self.rose = rose
    self.marks = marks
  }

  /// The replica's IDs for new documents.
  package var ids: Range<UInt64> { max(1, range * Self.rangeCount)..<(range + 1) * Self.rangeCount }
}

/// The replicas whose changes a store includes, and its own replica (FORMAT, "Replicas").
///
/// The counters are the store's version vector. The state determines the own counter, so ordinary commits don't write
/// it here.
package struct Replicas: Hashable, Sendable {
  package static let maximumCount = 4096

  /// The number of the own replica.
  package private(set) var own: UInt32
  /// The replicas by number.
  package private(set) var entries: [Replica]
  /// The memory of a sync folder, and the entries of later versions.
  private(set) var extensionBytes: [UInt8] = []
  package private(set) var isNewer = false

  /// Creates the replicas of a new store.
  package init(own: Replica) {
    self.own = 0
    entries = [own]
  }

  package subscript(_ number: UInt32) -> Replica {
    get { entries[Int(number)] }
    set { entries[Int(number)] = newValue }
  }

  package var ownReplica: Replica { entries[Int(own)] }

  package func number(of identity: UniqueID) -> UInt32? {
    entries.firstIndex { $0.identity == identity }.map { UInt32($0) }
  }

  /// Adds a replica and returns its number.
  ///
  /// - Throws: `noNumberLeft`.
  package mutating func add(_ replica: Replica) throws(StoreError) -> UInt32 {
    guard entries.count < Self.maximumCount else {
      throw StoreError(
        .noNumberLeft, "the store has had \(Self.maximumCount) replicas, so there can't be another",
        hint: "export it into a new store")
    }
    entries.append(replica)
    return UInt32(entries.count - 1)
  }

  /// Adds a new replica and makes it the own replica.
  ///
  /// - Parameter counter: The counter of the transaction that makes this change.
  package mutating func takeIdentity(_ identity: UniqueID, range: UInt64, counter: UInt64, at generation: UInt64)
    throws(StoreError)
  {
    own = try add(Replica(identity: identity, counter: counter, range: range, rose: generation))
  }

  /// Updates the own entry, because ordinary commits don't.
  ///
  /// - Parameter marks: The marks of the commits before this generation.
  package mutating func noteOwn(counter: UInt64, marks: [Replica.Mark], at generation: UInt64) {
    entries[Int(own)].counter = counter
    entries[Int(own)].rose = generation
    entries[Int(own)].marks = marks.suffix(Replica.maximumMarks)
  }

  /// Returns the marks of the own replica's last commits, without gaps.
  ///
  /// - Parameters:
  ///   - state: The state of these replicas.
  ///   - mark: The mark of this state.
  ///   - limit: The maximum number of marks. The state lists up to a few hundred.
  package func ownMarks(
    of state: StoreState, mark: [UInt8], limit: Int = Replica.maximumMarks
  ) -> [Replica.Mark] {
    let first = max(
      ownReplica.rose, 1, state.ring.known - 1, state.generation - min(state.generation, UInt64(limit)))
    // Marks before a gap would look like another history's.
    var marks = first > ownReplica.rose ? [] : ownReplica.marks
    // A replica that this transaction added doesn't have a commit yet.
    guard first <= state.generation else { return marks }
    for generation in first...state.generation {
      guard let bytes = generation == state.generation ? mark : state.ring.mark(of: generation) else { continue }
      let value = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
      marks.append(Replica.Mark(counter: generation + state.lead, mark: value))
    }
    return marks.suffix(limit)
  }

  /// Returns an unused range.
  ///
  /// - Parameter draw: A random number.
  package func freeRange(_ draw: UInt64) -> UInt64 {
    let taken = Set(entries.map(\.range))
    let count = Replica.ranges.upperBound
    let first = draw % count
    // There are more ranges than replicas.
    return (0..<count).lazy.map { (first + $0) % count + 1 }.first { !taken.contains($0) }!
  }

  /// The replicas for a new copy of the store, before the copy's own replica is added.
  package var copied: Replicas {
    var copy = self
    copy.syncMemory = nil
    for index in copy.entries.indices { copy.entries[index].rose = 1 }
    return copy
  }

  /// The same replicas without commits, for a new store that takes over their changes.
  package var withoutCommits: Replicas {
    var copy = copied
    for index in copy.entries.indices {
      copy.entries[index].counter = 0
      copy.entries[index].marks = []
    }
    return copy
  }

  /// The memory of the folder that the store syncs with, or `nil` (FORMAT, "Replicas").
  package var syncMemory: [UInt8]? {
    get { ExtensionPart.entry(ExtensionPart.syncMemory, in: extensionBytes) }
    set { extensionBytes = ExtensionPart.setting(ExtensionPart.syncMemory, to: newValue, in: extensionBytes) }
  }

  /// Takes the counters and marks of joint replicas, which must begin with these replicas.
  package mutating func take(_ joined: Replicas) throws(StoreError) {
    for (number, entry) in joined.entries.enumerated() {
      if number >= entries.count {
        _ = try add(entry)
      } else if number != own, entry.counter > entries[number].counter {
        entries[number] = entry
      }
    }
  }

  /// Returns whether the store merged other replicas' changes, or changed its own replica, after a generation.
  package func haveRisen(since generation: UInt64) -> Bool {
    entries.indices.contains { $0 != own && entries[$0].rose > generation }
  }

  // MARK: Dots

  /// Returns whether a dot precedes another dot, ordered by counter and then by identity.
  package func isBefore(_ one: Dot, _ other: Dot) -> Bool {
    if one.counter != other.counter { return one.counter < other.counter }
    guard one.replica != other.replica else { return false }
    // A dot with an unknown number is rejected when its document is compared with others.
    let (first, second) = (Int(one.replica), Int(other.replica))
    guard first < entries.count, second < entries.count else { return first < second }
    return entries[first].identity < entries[second].identity
  }

  package func greatest(_ dots: [Dot]) -> Dot {
    dots.dropFirst().reduce(dots[0]) { isBefore($0, $1) ? $1 : $0 }
  }

  /// Returns whether the store includes the dot's commit.
  ///
  /// - Parameter ownCounter: The state's counter.
  package func covers(_ dot: Dot, ownCounter: UInt64) -> Bool {
    if dot.isZero { return true }
    guard dot.replica < entries.count else { return false }
    return dot.counter <= counter(of: dot.replica, ownCounter: ownCounter)
  }

  package func counter(of number: UInt32, ownCounter: UInt64) -> UInt64 {
    number == own ? ownCounter : entries[Int(number)].counter
  }

  // MARK: The sealed row

  package static func binding(storeID: [UInt8]) -> [UInt8] {
    PreAuthenticationEncoding("coffer3/replicas").adding(storeID).bytes
  }

  package func seal(under root: RootKey) throws(StoreError) -> SealedReplicas {
    try translatingErrors { () throws(SealingError) in
      let key = try XAESKey(root.derive(.replicas))
      let sealed = try key.seal(bytes, authenticating: Self.binding(storeID: root.storeID))
      return SealedReplicas(sealed: sealed, digest: try Self.digest(of: sealed))
    }
  }

  /// Opens the row whose digest is in the state.
  ///
  /// - Throws: `damaged` if the row doesn't match the digest or is invalid, or `otherFormat` for entries of a later
  ///   version.
  package init(_ sealed: [UInt8], digest: TextDigest, generation: UInt64, under root: RootKey) throws(StoreError) {
    guard try translatingErrors({ () throws(SealingError) in try Self.digest(of: sealed) }) == digest
    else { throw .damagedStore("its replicas are not those that the state names") }
    let bytes: [UInt8]
    do throws(SealingError) {
      let key = try XAESKey(root.derive(.replicas))
      bytes = try key.open(sealed, authenticating: Self.binding(storeID: root.storeID))
    } catch {
      throw .unopened(error, .damagedStore("its replicas can't be opened"))
    }
    guard let replicas = bytes.withBytes({ Replicas($0, generation: generation) }) else {
      throw .damagedStore("its replicas are invalid")
    }
    guard !replicas.isNewer else { throw .newerStore }
    self = replicas
  }

  private static func digest(of sealed: [UInt8]) throws(SealingError) -> TextDigest {
    let hasher = try TextHasher()
    return try sealed.withBytes { bytes throws(SealingError) in try hasher.digest(of: bytes) }
  }

  /// The form without a seal.
  package var bytes: [UInt8] {
    var builder = ByteBuilder()
    builder.append(own)
    builder.append(UInt32(entries.count))
    for entry in entries {
      builder.append(entry.identity)
      builder.append(varint: entry.counter)
      builder.append(varint: entry.range)
      builder.append(varint: entry.rose)
      builder.append(UInt8(entry.marks.count))
      var last: UInt64 = 0
      for mark in entry.marks {
        builder.append(varint: mark.counter - last)
        builder.append(mark.mark)
        last = mark.counter
      }
    }
    builder.append(bytes: extensionBytes)
    return builder.bytes
  }

  /// Whether each replica's marks ascend to its counter, as the sealed row requires.
  package var isConsistent: Bool {
    entries.allSatisfy { entry in
      let counters = entry.marks.map(\.counter)
      return zip(counters, counters.dropFirst()).allSatisfy(<) && counters.last ?? 0 <= entry.counter
    }
  }

  /// Reads replicas, or returns `nil` for invalid bytes.
  package init?(_ bytes: UnsafeRawBufferPointer, generation: UInt64) {
    var reader = ByteReader(bytes)
    guard let own: UInt32 = reader.integer(), let count: UInt32 = reader.integer(),
      (1...UInt32(Self.maximumCount)).contains(count), own < count
    else { return nil }
    self.own = own
    entries = []
    entries.reserveCapacity(Int(count))
    var identities: Set<UniqueID> = []
    for _ in 0..<count {
      guard let replica = Replica(&reader, generation: generation), identities.insert(replica.identity).inserted
      else { return nil }
      entries.append(replica)
    }
    guard let rest = reader.bytes(reader.remaining), let part = ExtensionPart(rest, of: .replicas) else { return nil }
    extensionBytes = Array(part.bytes)
    isNewer = part.isNewer
  }
}

/// The sealed row and the digest that the state holds.
package struct SealedReplicas: Sendable {
  package let sealed: [UInt8]
  package let digest: TextDigest
}

extension Replica {
  fileprivate init?(_ reader: inout ByteReader, generation: UInt64) {
    guard let identity = reader.uniqueID(), let counter = reader.varint(),
      counter <= UInt64(StoreFormat.maximumGeneration), let range = reader.varint(), Self.ranges.contains(range),
      let rose = reader.varint(), rose <= generation, let count: UInt8 = reader.integer(),
      count <= Self.maximumMarks
    else { return nil }
    self.init(identity: identity, counter: counter, range: range, rose: rose)
    var last: UInt64 = 0
    for _ in 0..<count {
      guard let distance = reader.varint(), distance >= 1, distance <= counter - last,
        let mark: UInt64 = reader.integer()
      else { return nil }
      last += distance
      marks.append(Mark(counter: last, mark: mark))
    }
  }
}
