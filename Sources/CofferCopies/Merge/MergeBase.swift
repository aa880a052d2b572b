internal import CofferEngine
internal import CofferRecords

/// The relation between two merged stores, and the generations that each store has seen of the other.
struct MergeBase {
  enum Relation {
    /// The other store is the original of this editable copy.
    case original
    /// The other store is an editable copy, and this store is its original.
    case copy
    /// Both stores are editable copies with the same original.
    case sibling
    /// Both files contain the same store.
    case file
  }

  let relation: Relation
  /// The other store's latest generation that this store has seen.
  let seenHere: UInt64
  /// This store's latest generation that the other store has seen.
  let seenThere: UInt64
  /// Whether this store already includes every change in the other store.
  var isUnchanged = false
  /// Whether the other store is also an editable copy, so its changes can have its original's stamps.
  var isChain = false
  /// The first generation that the common original didn't assign. Below it, the later change wins.
  var firstOwn: UInt64 = 0

  /// Whether the other store's ring can list its changes, because `seenHere` is one of its generations.
  var canUseRing: Bool { relation == .original || relation == .file }
  /// Whether the other store's new documents keep their IDs.
  var leavesIDs: Bool { relation == .original }
  /// The stores that changed a part of a document or collection.
  enum Change {
    case noneThere
    case onlyThere
    case both
  }

  /// Returns the stores that changed a part with these stamps since the base.
  func change(mine: UInt64, theirs: UInt64) -> Change {
    // Both changes come from the original, so the later change wins.
    if mine < firstOwn, theirs < firstOwn { return theirs > mine ? .onlyThere : .noneThere }
    guard theirs > seenHere else { return .noneThere }
    return mine > seenThere ? .both : .onlyThere
  }

  /// Returns whether neither store changed a part with these stamps since the base.
  func isUnchanged(mine: UInt64, theirs: UInt64) -> Bool {
    mine == theirs && mine < firstOwn || mine <= seenThere && theirs <= seenHere
  }

  /// Whether merged changes keep their stamps. Otherwise, they count as this store's changes, so its copies see them.
  var keepsStamps: Bool { relation == .original || relation == .sibling }
}

extension StoreEngine {
  /// Determines the relation between this store and `other`.
  ///
  /// - Throws: `invalidArgument` if the stores lack a common origin, or are files of one store without a base.
  ///   `rolledBack` or `anchorMismatch` if the original is older than the copy's base or doesn't descend from it.
  func mergeBase(
    _ other: StoreEngine, by older: StoreEngine?, _ mine: StoreTransaction, _ theirs: StoreTransaction,
    _ options: MergeOptions
  ) throws -> MergeBase {
    let (here, there) = (mine.state, theirs.state)
    let (myID, theirID) = (mine.keys.session.header.storeID, theirs.keys.session.header.storeID)
    if myID == theirID { return try mergeBaseOfFiles(other, by: older, mine, theirs, options) }
    guard older == nil else {
      throw StoreError(.invalidArgument, "only two files of one store have a base: these are two stores")
    }
    if here.origin.kind == .editableCopy, here.origin.storeID == theirID {
      let isNewer = try other.compare(
        with: here.origin, in: theirs, allowingRekey: options.allowsRekey, path: path)
      return MergeBase(
        relation: .original, seenHere: here.origin.generation, seenThere: there.generation, isUnchanged: !isNewer,
        isChain: there.origin.kind == .editableCopy,
        firstOwn: StoreOrigin.firstGeneration(ofCopyAt: here.origin.generation))
    }
    if there.origin.kind == .editableCopy, there.origin.storeID == myID {
      _ = try compare(with: there.origin, in: mine, allowingRekey: options.allowsRekey, path: other.path)
      return MergeBase(relation: .copy, seenHere: here.generation, seenThere: there.origin.generation)
    }
    guard here.origin.kind == .editableCopy, there.origin.kind == .editableCopy,
      here.origin.storeID == there.origin.storeID
    else {
      throw StoreError(
        .invalidArgument, "the stores have no common origin, so there is nothing to merge by",
        hint: "import what one of them exports into the other")
    }
    guard here.origin.generation != there.origin.generation || here.origin.mark == there.origin.mark else {
      throw StoreError(
        .anchorMismatch, "\(path) and \(other.path) were made from two different states of one generation",
        hint: "their original was written to in two places")
    }
    let generation = max(here.origin.generation, there.origin.generation)
    return MergeBase(
      relation: .sibling, seenHere: here.origin.generation, seenThere: there.origin.generation,
      firstOwn: StoreOrigin.firstGeneration(ofCopyAt: generation))
  }

  private func mergeBaseOfFiles(
    _ other: StoreEngine, by older: StoreEngine?, _ mine: StoreTransaction, _ theirs: StoreTransaction,
    _ options: MergeOptions
  ) throws -> MergeBase {
    let (here, there) = (mine.start, theirs.start)
    let myMark = try mine.connection.mark(of: here)
    let theirMark = try theirs.connection.mark(of: there)
    func base(at generation: UInt64, isUnchanged: Bool = false) -> MergeBase {
      MergeBase(
        relation: .file, seenHere: generation, seenThere: generation, isUnchanged: isUnchanged,
        isChain: there.origin.kind == .editableCopy)
    }
    if myMark == theirMark { return base(at: here.generation, isUnchanged: true) }
    if let mark = there.ring.mark(of: here.generation), myMark.starts(with: mark) { return base(at: here.generation) }
    if let mark = here.ring.mark(of: there.generation), theirMark.starts(with: mark) {
      return base(at: there.generation, isUnchanged: true)
    }
    guard let older else {
      // For example, a promoted copy and the old machine's file.
      if let generation = here.ring.lastCommonGeneration(with: there.ring) { return base(at: generation) }
      throw StoreError(
        .invalidArgument,
        "\(other.path) is another file of the same store, and no state is known from which both descend",
        hint: "give an older file of the store, from which both descend, as \(.mergeBase)")
    }
    let anchor = try older.reading { transaction throws(StoreError) in try transaction.anchor() }
    for (engine, transaction) in [(self, mine), (other, theirs)] {
      switch try engine.compared(anchor, with: transaction, allowingRekey: options.allowsRekey) {
      case .success: continue
      case .failure:
        throw StoreError(.anchorMismatch, "\(engine.path) does not descend from \(older.path)")
      }
    }
    return base(at: anchor.generation)
  }
}
