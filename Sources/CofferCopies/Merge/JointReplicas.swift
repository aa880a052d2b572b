internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The replicas of two stores with joint numbers, and the commits that each store includes.
///
/// This store's replicas keep their numbers, followed by the replicas that only the other store has.
struct JointReplicas {
  /// The joint replicas, with this store's counters and marks after a merge.
  private(set) var joined: Replicas
  private var mine: [UInt64]
  private var theirs: [UInt64]
  /// The joint numbers of the other store's replicas.
  private var numbers: [UInt32] = []
  /// The counter after which the other store's own dots belong to a different replica, and that replica's number.
  private var split: (own: UInt32, counter: UInt64, number: UInt32)?

  /// Compares the histories of two stores.
  ///
  /// - Parameter base: The replicas of the older file that both stores were copied from, if the stores are one replica.
  /// - Throws: `invalidArgument` if the stores don't share a replica, `anchorMismatch` if one replica was written in
  ///   two files, `noNumberLeft` if there are too many replicas, or `setMismatch` if a counter is unreachable.
  init(_ mine: StoreTransaction, _ theirs: StoreTransaction, base: CloneBase? = nil) throws(StoreError) {
    let here = try mine.replicasOfStart()
    let there = try theirs.replicasOfStart()
    joined = here
    for entry in there.entries {
      if let known = here.number(of: entry.identity) {
        numbers.append(known)
      } else {
        numbers.append(try joined.add(entry))
      }
    }
    self.mine = joined.entries.map { here.number(of: $0.identity) == nil ? 0 : $0.counter }
    self.theirs = joined.entries.map { entry in there.number(of: entry.identity).map { there[$0].counter } ?? 0 }
    guard here.entries.contains(where: { there.number(of: $0.identity) != nil }) else {
      throw StoreError(
        .invalidArgument, "the stores have no common origin, so there is nothing to merge by",
        hint: "import what one of them exports into the other")
    }
    if let base { try take(base, here, there) }
    try requireOneHistory(Commits(mine, here), Commits(theirs, there))
    guard self.theirs.allSatisfy({ $0 <= self.mine[Int(here.own)] || $0 - self.mine[Int(here.own)] <= 1 << 32 }) else {
      throw StoreError(.setMismatch, "the other store has a counter that no store reaches")
    }
    for number in joined.entries.indices where self.theirs[number] > self.mine[number] {
      joined[UInt32(number)].counter = self.theirs[number]
      joined[UInt32(number)].rose = mine.start.generation + 1
      if split?.number == UInt32(number) { continue }
      if let entry = there.number(of: joined.entries[number].identity) {
        joined[UInt32(number)].marks = there[entry].marks
      }
    }
  }

  /// Assigns the other file's commits since the older file to a separate replica.
  private mutating func take(_ base: CloneBase, _ here: Replicas, _ there: Replicas) throws(StoreError) {
    guard here.ownReplica.identity == there.ownReplica.identity, let known = base.replicas.number(of: base.identity),
      base.identity == here.ownReplica.identity
    else {
      throw StoreError(
        .invalidArgument, "only two files of one store have a base: these are two stores",
        hint: "merge them without a base")
    }
    let counter = base.replicas[known].counter
    let (own, identity) = (here.own, base.newIdentity)
    guard counter <= mine[Int(own)], counter <= theirs[Int(own)],
      Commits.compare(base.replicas[known].marks, here.ownReplica.marks) != .different,
      Commits.compare(base.replicas[known].marks, there.ownReplica.marks) != .different
    else {
      throw StoreError(
        .anchorMismatch, "the base is not an older file of both stores", hint: "give a file that both were copied from")
    }
    guard there.number(of: identity) == nil else {
      throw StoreError(
        .anchorMismatch, "the other file has the changes of this one already, under another name",
        hint: "go on with the other file, and give this one up")
    }
    let number: UInt32
    if let given = joined.number(of: identity) {
      number = given
    } else {
      number = try joined.add(
        Replica(identity: identity, counter: 0, range: there.ownReplica.range, rose: 0))
      mine.append(0)
      theirs.append(0)
    }
    split = (own, counter, number)
    theirs[Int(number)] = max(theirs[Int(number)], theirs[Int(own)])
    theirs[Int(own)] = counter
  }

  /// Requires each replica to have a single history: only this store raises its own counter, and a commit has equal
  /// marks in both stores.
  private func requireOneHistory(_ here: Commits, _ there: Commits) throws(StoreError) {
    for (number, entry) in there.replicas.entries.enumerated() {
      guard let known = here.replicas.number(of: entry.identity), split?.own != numbers[number] else { continue }
      let comparison = Commits.compare(here.marks(of: known), there.marks(of: UInt32(number)))
      guard comparison != .different else { throw Self.clone }
      let isMine = known == here.replicas.own
      let isTheirs = number == there.replicas.own
      // Only this store makes commits under its name, unless the other file is a copy of it.
      guard !isMine || isTheirs || theirs[Int(known)] <= mine[Int(known)] else { throw Self.clone }
      guard isMine, isTheirs, theirs[Int(known)] != mine[Int(known)] else { continue }
      guard comparison == .equal else { throw Self.unknownClone }
      guard theirs[Int(known)] < mine[Int(known)] else {
        throw StoreError(
          .anchorMismatch, "the other file is this one at a later time, so there is nothing to merge",
          hint: "go on with the other file")
      }
    }
  }

  static var clone: StoreError {
    StoreError(
      .anchorMismatch, "both files are copies of one store and were written to, so their changes have the same names",
      hint: "promote one of them before it's written to, or give the file that both were copied from with \(.mergeBase)"
    )
  }

  private static var unknownClone: StoreError {
    StoreError(
      .anchorMismatch,
      "both files are copies of one store, and too many changes lie between them to tell if both were written to",
      hint: "give the file that both were copied from with \(.mergeBase), or go on with the later one"
    )
  }

  // MARK: Dots

  /// Returns the other store's dot with its joint number.
  ///
  /// - Throws: `setMismatch` if the other store doesn't include the dot.
  func translate(_ dot: Dot) throws(StoreError) -> Dot {
    if dot.isZero { return dot }
    guard dot.replica < numbers.count else { throw Self.unknownDot }
    var translated = Dot(replica: numbers[Int(dot.replica)], counter: dot.counter)
    if let split, translated.replica == split.own, translated.counter > split.counter {
      translated.replica = split.number
    }
    guard theyInclude(translated) else { throw Self.unknownDot }
    return translated
  }

  func translate(_ dots: DocumentDots) throws(StoreError) -> DocumentDots {
    var dots = dots
    dots.born = try translate(dots.born)
    dots.text = try translate(dots.text)
    dots.title = try translate(dots.title)
    dots.key = try translate(dots.key)
    dots.attributes = try translate(dots.attributes)
    dots.place = try translate(dots.place)
    for index in dots.members.indices { dots.members[index].dot = try translate(dots.members[index].dot) }
    dots.stamp = try translate(dots.stamp)
    dots.kept = try translate(dots.kept)
    return dots
  }

  func translate(_ dots: CollectionDots) throws(StoreError) -> CollectionDots {
    var dots = dots
    dots.born = try translate(dots.born)
    dots.name = try translate(dots.name)
    dots.settings = try translate(dots.settings)
    dots.dropped = try translate(dots.dropped)
    dots.stamp = try translate(dots.stamp)
    return dots
  }

  private static var unknownDot: StoreError {
    StoreError(.setMismatch, "a row names a change that the store doesn't include")
  }

  func iInclude(_ dot: Dot) -> Bool {
    dot.isZero || Int(dot.replica) < mine.count && dot.counter <= mine[Int(dot.replica)]
  }

  func theyInclude(_ dot: Dot) -> Bool {
    dot.isZero || Int(dot.replica) < theirs.count && dot.counter <= theirs[Int(dot.replica)]
  }

  func iInclude(_ dots: [Dot]) -> Bool { dots.allSatisfy(iInclude) }
  func theyInclude(_ dots: [Dot]) -> Bool { dots.allSatisfy(theyInclude) }

  /// Returns whether a dot precedes another dot. The result is the same in every store.
  func isBefore(_ one: Dot, _ other: Dot) -> Bool { joined.isBefore(one, other) }

  func later(_ one: Dot, _ other: Dot) -> Dot { isBefore(one, other) ? other : one }

  // MARK: Vectors

  /// A Boolean value that indicates whether this store includes all of the other store's changes.
  var isUpToDate: Bool { zip(mine, theirs).allSatisfy { $0 >= $1 } }

  /// A Boolean value that indicates whether the other store includes all of this store's changes.
  var isAncestor: Bool { zip(mine, theirs).allSatisfy { $0 <= $1 } }

  /// The greatest counter in either store.
  var greatestCounter: UInt64 { max(mine.max() ?? 0, theirs.max() ?? 0) }

  /// Returns the counter up to which this store includes the other store's own changes.
  func knownCounter(ofOwn there: Replicas) -> UInt64 {
    if let split, split.own == numbers[Int(there.own)] { return max(split.counter, mine[Int(split.number)]) }
    return mine[Int(numbers[Int(there.own)])]
  }

  /// Returns whether this store includes the changes that the other store took from other replicas.
  func includesOthers(than there: Replicas) -> Bool {
    let own = split?.number ?? numbers[Int(there.own)]
    return mine.indices.allSatisfy { $0 == Int(own) || mine[$0] >= theirs[$0] }
  }

  /// The joint replicas with the other store's counters, for replacing this store's contents.
  var replaced: Replicas {
    var replaced = joined
    for number in replaced.entries.indices {
      replaced[UInt32(number)].counter = theirs[number]
      replaced[UInt32(number)].marks.removeAll { $0.counter > theirs[number] }
    }
    return replaced
  }
}

/// The older file that two files of one replica were copied from.
struct CloneBase {
  let replicas: Replicas
  /// The identity of both copies' replica.
  let identity: UniqueID
  /// The identity that the other copy's later commits are assigned to.
  let newIdentity: UniqueID

  init(_ older: StoreTransaction) throws(StoreError) {
    replicas = try older.replicasOfStart()
    identity = replicas.ownReplica.identity
    let mark = try older.connection.mark(of: older.start)
    newIdentity = try UniqueID(hashing: "coffer3/clone", identity.bytes + mark)
  }
}

/// The commits of a store's replicas, as far as the store has their marks.
private struct Commits {
  enum Comparison { case equal, different, unknown }

  let replicas: Replicas
  /// The marks of the own commits, of which the state lists more than the replicas.
  private let own: [Replica.Mark]

  /// - Parameter replicas: The replicas at the start of the transaction.
  init(_ transaction: StoreTransaction, _ replicas: Replicas) throws(StoreError) {
    self.replicas = replicas
    own = try transaction.replicas.ownMarks(
      of: transaction.start, mark: try transaction.connection.mark(of: transaction.start), limit: .max)
  }

  func marks(of number: UInt32) -> [Replica.Mark] { number == replicas.own ? own : replicas[number].marks }

  /// Compares the marks of one replica in the range that both stores describe.
  static func compare(_ one: [Replica.Mark], _ other: [Replica.Mark]) -> Comparison {
    guard let first = one.first, let last = one.last, let otherFirst = other.first, let otherLast = other.last else {
      return .unknown
    }
    let (lower, upper) = (max(first.counter, otherFirst.counter), min(last.counter, otherLast.counter))
    guard lower <= upper else { return .unknown }
    let range = lower...upper
    return one.filter { range.contains($0.counter) } == other.filter { range.contains($0.counter) }
      ? .equal : .different
  }
}

extension StoreTransaction {
  /// The replicas at the start of the transaction, with an up-to-date own entry.
  func replicasOfStart() throws(StoreError) -> Replicas {
    var replicas = try replicas
    replicas.noteOwn(
      counter: start.counter, marks: replicas.ownMarks(of: start, mark: try connection.mark(of: start)),
      at: replicas.ownReplica.rose)
    return replicas
  }
}
