internal import CofferRecords

/// The relation of two stores to merge, and the generations that each side has seen of the other.
struct MergeBase {
  enum Relation {
    /// The other store is the original of this editable copy.
    case original
    /// The other store is an editable copy of this one.
    case copy
    /// Both are editable copies of one store.
    case sibling
    /// Both are files of one store.
    case file
  }

  let relation: Relation
  /// The last generation of the other store's changes that this one has seen.
  let seenHere: UInt64
  /// The last generation of this store's changes that the other one has seen.
  let seenThere: UInt64
  /// Whether the other store has nothing new.
  var isUnchanged = false
  /// The other store is an editable copy too, and may have taken changes from its original that keep its stamps.
  var isChain = false
  /// Generations below this one were given by the original of both; among these the later one wins.
  var firstOwn: UInt64 = 0

  /// Whether the ring of the other store can name its changes: generations of this base are its.
  var mayUseRing: Bool { relation == .original || relation == .file }
  /// Whether the ids of the other store's new documents are left to it.
  var leavesIDs: Bool { relation == .original }
  /// The sides that changed a part of a document or collection.
  enum Change {
    case noneThere
    case onlyThere
    case both
  }

  /// The sides that changed a part with these stamps.
  func change(mine: UInt64, theirs: UInt64) -> Change {
    // Two changes of the original: the later one.
    if mine < firstOwn, theirs < firstOwn { return theirs > mine ? .onlyThere : .noneThere }
    guard theirs > seenHere else { return .noneThere }
    return mine > seenThere ? .both : .onlyThere
  }

  /// Whether neither side changed a part with these stamps since they met.
  func isUnchanged(mine: UInt64, theirs: UInt64) -> Bool {
    mine == theirs && mine < firstOwn || mine <= seenThere && theirs <= seenHere
  }

  /// Whether changes taken over keep their stamps. In a store that others may have copies of, they are changes of this
  /// store, so that these copies see them.
  var keepsStamps: Bool { relation == .original || relation == .sibling }
}

extension StoreEngine {
  /// Finds out how this store and `other` belong together.
  ///
  /// - Throws: `invalidArgument` for stores without a common origin, or files of one store without a base; `rolledBack`
  ///   and `anchorMismatch` for an original that is not the state's, or not from after it.
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
      var original = OriginalOptions()
      original.rekeyKnown = options.rekeyKnown
      let isNewer = try other.compare(with: here.origin, in: theirs, original, path: path)
      return MergeBase(
        relation: .original, seenHere: here.origin.generation, seenThere: there.generation, isUnchanged: !isNewer,
        isChain: there.origin.kind == .editableCopy,
        firstOwn: StoreOrigin.firstGeneration(ofCopyAt: here.origin.generation))
    }
    if there.origin.kind == .editableCopy, there.origin.storeID == myID {
      var original = OriginalOptions()
      original.rekeyKnown = options.rekeyKnown
      _ = try compare(with: there.origin, in: mine, original, path: other.path)
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
      // The old machine's file and the promoted copy, for example.
      if let generation = here.ring.lastCommonGeneration(with: there.ring) { return base(at: generation) }
      throw StoreError(
        .invalidArgument,
        "\(other.path) is another file of the same store, and no state is known from which both descend",
        hint: "give an older file of the store, from which both descend, as \(.mergeBase)")
    }
    let anchor = try older.reading { transaction throws(StoreError) in try transaction.anchor() }
    for (engine, transaction) in [(self, mine), (other, theirs)] {
      switch try engine.compared(anchor, with: transaction, options.rekeyKnown ? .rekeyKnown : []) {
      case .success: continue
      case .failure:
        throw StoreError(.anchorMismatch, "\(engine.path) does not descend from \(older.path)")
      }
    }
    return base(at: anchor.generation)
  }
}
