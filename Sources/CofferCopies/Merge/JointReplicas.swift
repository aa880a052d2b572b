package import CofferEngine
package import CofferRecords
internal import CofferSealing

/// The replicas of two stores with joint numbers, and the commits that each store includes.
///
/// This store's replicas keep their numbers, followed by the other store's additional replicas.
struct JointReplicas {
  /// The joint replicas, with this store's counters and marks after a merge.
  private(set) var joined: Replicas
  private var mine: [UInt64]
  private var theirs: [UInt64]
  /// The joint numbers of the other store's replicas.
  private var numbers: [UInt32] = []
  /// The counter after which the other store's own dots belong to a different replica, and that replica's number.
  private var split: (own: UInt32, counter: UInt64, number: UInt32)?

  /// Whether the listed commits can't show that both stores have one history, so their documents must.
  private(set) var needsDocuments = false

  /// Compares the histories of two stores.
  ///
  /// - Parameter base: The older file that both stores were copied from, if the stores are one replica.
  /// - Throws: `invalidArgument` if the stores don't share a replica, `anchorMismatch` if one replica was written in
  ///   two files, `noNumberLeft` if there are too many replicas, or `setMismatch` if a counter is unreachable.
  init(_ mine: StoreTransaction, _ theirs: StoreTransaction, base: CloneBase? = nil) throws(StoreError) {
    try self.init(mine, try Commits(theirs, try theirs.replicasOfStart()), areOfStore: true, base: base)
  }

  /// Compares the histories of a store and of commits from elsewhere.
  ///
  /// - Parameter areOfStore: Whether the commits come from a whole store rather than a changeset.
  init(
    _ mine: StoreTransaction, _ theirCommits: Commits, areOfStore: Bool, base: CloneBase? = nil
  ) throws(StoreError) {
    let ourCommits = try Commits(mine, try mine.replicasOfStart())
    let (here, there) = (ourCommits.replicas, theirCommits.replicas)
    try self.init(joining: here, there)
    if let base { try take(base, ourCommits, theirCommits) }
    try requireOneHistory(ourCommits, theirCommits, areOfStore: areOfStore)
    guard self.theirs.allSatisfy({ $0 <= self.mine[Int(here.own)] || $0 - self.mine[Int(here.own)] <= 1 << 32 }) else {
      throw StoreError(.setMismatch, "the other store has a counter that no store reaches")
    }
    for number in joined.entries.indices where self.theirs[number] > self.mine[number] {
      joined[UInt32(number)].counter = self.theirs[number]
      joined[UInt32(number)].rose = mine.start.generation + 1
      if let split, split.number == UInt32(number) {
        // The marks show a later merge that it's the same file.
        joined[split.number].marks = there.ownReplica.marks.filter { $0.counter > split.counter }
      } else if let entry = there.number(of: joined.entries[number].identity) {
        joined[UInt32(number)].marks = there[entry].marks
      }
    }
  }

  /// Joins the replicas without comparing the histories.
  init(joining here: Replicas, _ there: Replicas) throws(StoreError) {
    joined = here
    for var entry in there.entries {
      if let known = here.number(of: entry.identity) {
        numbers.append(known)
      } else {
        // The other store's generation doesn't apply here, and can be later than this store's generation.
        entry.rose = 1
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
  }

  /// Assigns the other file's commits since the older file to a separate replica.
  private mutating func take(_ base: CloneBase, _ ours: Commits, _ others: Commits) throws(StoreError) {
    let (here, there) = (ours.replicas, others.replicas)
    guard here.ownReplica.identity == there.ownReplica.identity else {
      throw StoreError(
        .invalidArgument, "only two files of one store have a base: these are two stores",
        hint: "merge them without a base")
    }
    guard base.replicas.number(of: here.ownReplica.identity) != nil else {
      throw StoreError(
        .invalidArgument, "the base is a file of another store", hint: "give a file that both were copied from")
    }
    let (own, counter) = (here.own, base.replicas.ownReplica.counter)
    let comparisons = [ours, others].map { Commits.compare(base.marks, $0.own) }
    guard base.replicas.ownReplica.identity == here.ownReplica.identity, counter <= mine[Int(own)],
      counter <= theirs[Int(own)], !comparisons.contains(.different),
      [here, there].allSatisfy(base.replicas.isIncluded)
    else { throw CloneBase.isNoOlderFile }
    if comparisons.contains(.unknown) { needsDocuments = true }
    for entry in there.entries where entry.isClone(of: there.ownReplica) && here.number(of: entry.identity) == nil {
      guard Commits.compare(entry.marks, ours.own) != .equal else {
        throw StoreError(
          .anchorMismatch, "the other file has the changes of this one already, under another name",
          hint: "go on with the other file, and give this one up")
      }
    }
    let identity = try identity(of: others, since: base)
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

  /// Returns the identity for the other file's commits since the base. Every merge of this file uses the same
  /// identity.
  ///
  /// The first commit since the base distinguishes files with the same base. When this commit is no longer listed, the
  /// marks from an earlier merge distinguish them. If there wasn't an earlier merge, the last commit is used instead.
  private func identity(of others: Commits, since base: CloneBase) throws(StoreError) -> UniqueID {
    let own = others.replicas.ownReplica
    var isUnknown = false
    for entry in joined.entries where entry.isClone(of: own) && others.replicas.number(of: entry.identity) == nil {
      switch Commits.compare(entry.marks, others.own) {
      case .equal: return entry.identity
      case .unknown: isUnknown = true
      case .different: break
      }
    }
    let counter = base.replicas.ownReplica.counter
    let isFirstListed = others.own.first.map { $0.counter <= counter } ?? false
    guard isFirstListed || !isUnknown else {
      throw StoreError(
        .anchorMismatch,
        "a file with this base was merged before, and too many changes lie between to tell if it is this one",
        hint: "merge it into a copy from before that merge, or go on with this file as it is")
    }
    guard let first = isFirstListed ? others.own.first(where: { $0.counter > counter }) : others.own.last else {
      return try base.identity(of: 0)
    }
    return try base.identity(of: first.mark)
  }

  /// Requires each replica to have a single history. Only this store may raise its own counter, and each commit must
  /// have equal marks in both stores.
  private mutating func requireOneHistory(
    _ here: Commits, _ there: Commits, areOfStore: Bool
  ) throws(StoreError) {
    for (number, entry) in there.replicas.entries.enumerated() {
      guard let known = here.replicas.number(of: entry.identity), split?.own != numbers[number] else { continue }
      let comparison = Commits.compare(here.marks(of: known), there.marks(of: UInt32(number)))
      let isMine = known == here.replicas.own
      let isTheirs = number == there.replicas.own
      let areOneStore = here.replicas.ownReplica.identity == there.replicas.ownReplica.identity
      guard comparison != .different else {
        throw areOneStore ? Self.clone : isTheirs && !isMine ? Self.putBack : Self.copiedFile
      }
      // This store has marks only for another replica's last commits, so comparing the marks can miss a restored older
      // file.
      if areOfStore, isTheirs, !isMine, comparison == .unknown, theirs[Int(known)] > 0,
        theirs[Int(known)] <= mine[Int(known)]
      {
        // This store also took the other store's vector when it took these commits.
        guard zip(theirs, mine).allSatisfy({ $0 <= $1 }) else { throw Self.putBack }
        needsDocuments = true
      }
      // Only this store makes commits under its name, unless the other file is this store's copy.
      guard !isMine || isTheirs || theirs[Int(known)] <= mine[Int(known)] else { throw Self.copiedFile }
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

  /// The error for an older file that was restored and written to after its store was merged.
  static var putBack: StoreError {
    StoreError(
      .anchorMismatch,
      "the other store was merged before, and an older file of it was put back and written to since, so its changes "
        + "have the names of others",
      hint: enterMissingChanges)
  }

  /// The error for two files of one replica that were both written to, if one file is now another replica.
  private static var copiedFile: StoreError {
    StoreError(
      .anchorMismatch, "two files of one store were both written to, so their changes have the same names",
      hint: enterMissingChanges)
  }

  private static let enterMissingChanges: ErrorHint =
    "compare the two stores, and enter the changes here that are missing"

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
    try dots.mapped { dot throws(StoreError) in try translate(dot) }
  }

  func translate(_ dots: CollectionDots) throws(StoreError) -> CollectionDots {
    try dots.mapped { dot throws(StoreError) in try translate(dot) }
  }

  static var unknownDot: StoreError {
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
  let store: PairedStore
  let replicas: Replicas
  /// The marks of the replica's commits.
  let marks: [Replica.Mark]
  private let mark: [UInt8]

  init(_ older: PairedStore) throws(StoreError) {
    store = older
    (replicas, marks, mark) = try older.naming { () throws(StoreError) in
      let replicas = try older.transaction.replicasOfStart()
      return (
        replicas, try Commits(older.transaction, replicas).own,
        try older.transaction.connection.mark(of: older.transaction.start)
      )
    }
  }

  /// Returns the identity for a file's commits since this base.
  ///
  /// - Parameter first: The mark of the commit that distinguishes the file, or 0 if the file doesn't list one.
  fileprivate func identity(of first: UInt64) throws(StoreError) -> UniqueID {
    var builder = ByteBuilder()
    builder.append(first)
    return try UniqueID(hashing: "coffer3/clone", replicas.ownReplica.identity.bytes + mark + builder.bytes)
  }

  static var isNoOlderFile: StoreError {
    StoreError(
      .anchorMismatch, "the base is not an older file of both stores", hint: "give a file that both were copied from")
  }
}

extension Replicas {
  /// Returns whether other replicas include all of these replicas' commits.
  fileprivate func isIncluded(in others: Replicas) -> Bool {
    entries.allSatisfy { entry in
      entry.counter == 0 || others.number(of: entry.identity).map { others[$0].counter >= entry.counter } ?? false
    }
  }
}

extension Replica {
  /// Returns whether this replica represents commits from another file of `own`'s store. The equal ID range shows this,
  /// because other replicas have other ranges.
  fileprivate func isClone(of own: Replica) -> Bool { identity != own.identity && range == own.range }
}

extension StoreTransaction {
  /// Returns the replicas at the start of the transaction, with an up-to-date own entry.
  package func replicasOfStart() throws(StoreError) -> Replicas {
    var replicas = try replicas
    replicas.noteOwn(
      counter: start.counter, marks: replicas.ownMarks(of: start, mark: try connection.mark(of: start)),
      at: replicas.ownReplica.rose)
    return replicas
  }
}
