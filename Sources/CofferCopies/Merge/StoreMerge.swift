internal import CofferDocuments
package import CofferEngine
package import CofferRecords
internal import CofferSealing

extension StoreEngine {
  /// Merges another store's changes into this store in one transaction.
  ///
  /// - Parameter older: The older file that both stores were copied from, if they're files of one replica and both were
  ///   written to.
  package func merge(
    _ other: StoreEngine, by older: StoreEngine? = nil, from theirs: StoreTransaction, _ policy: MergePolicy,
    _ options: MergeOptions, _ progress: ProgressHandler?
  ) throws -> MergeReport {
    var input = MergeInput(.store(theirs), at: other.path)
    input.read = [other]
    guard let older else { return try merge(input, policy, options, progress) }
    return try older.read { transaction in
      input.read.append(older)
      input.base = try CloneBase(PairedStore(transaction, hint: "give a sound copy of the base"))
      return try merge(input, policy, options, progress)
    }
  }

  /// Applies a changeset in one transaction, so this store includes the changeset's commits.
  ///
  /// - Parameters:
  ///   - name: The changeset's name in errors.
  ///   - isRenamed: Whether the changeset and this store can have different names for the same commits.
  ///   - note: Called before the commit.
  package func take(
    _ changeset: ChangesetReader, named name: String, isRenamed: Bool, _ policy: MergePolicy,
    _ progress: ProgressHandler?,
    noting note: @escaping (StoreTransaction, AttachmentDebts) throws(StoreError) -> Void
  ) throws -> MergeReport {
    var input = MergeInput(.changeset(changeset), at: name)
    (input.isRenamed, input.note) = (isRenamed, note)
    return try merge(input, policy, MergeOptions(), progress)
  }

  private func merge(
    _ input: MergeInput, _ policy: MergePolicy, _ options: MergeOptions, _ progress: ProgressHandler?
  ) throws -> MergeReport {
    let result: Result<MergeReport, any Error> = try writing { mine throws(StoreError) in
      let result = Result { try merge(input, into: mine, policy, options, progress) }
      if case .success(let report) = result, report.isMerged { try mine.commit() }
      return result
    }
    return try result.get()
  }

  private func merge(
    _ input: MergeInput, into mine: StoreTransaction, _ policy: MergePolicy, _ options: MergeOptions,
    _ progress: ProgressHandler?
  ) throws -> MergeReport {
    guard mine.keys.session.keyring.highestCeiling == 0 else {
      throw StoreError(
        .rekeyUnfinished, "\(path) has an unfinished rekey, so nothing can be merged into it",
        hint: "finish it with \(.resumeRekey)")
    }
    _ = try mine.writer.upcomingDot()
    let here = PairedStore(mine)
    let other = try input.open(beside: here, options)
    guard !other.replicas.isUpToDate || options.verifiesOther || input.isChangeset else {
      return MergeReport(isMerged: !options.isDryRun)
    }
    let changes = try other.changes(whole: options.verifiesOther)
    let merge = try StoreMerge(
      here, other, changes, isChangeset: input.isChangeset, isRenamed: input.isRenamed, policy, options, progress)
    // Without changes, a commit would only be news for the other store. A changeset's commits are news for this store.
    let needsCommit = input.isChangeset || !changes.isEmpty
    guard needsCommit || !merge.attachments.isEmpty else { return MergeReport(isMerged: !options.isDryRun) }
    func requireSameMigrations() throws(StoreError) {
      try mine.requireSameMigrations(as: try other.appliedMigrations(), at: path, otherPath: input.path)
    }
    if needsCommit { try requireSameMigrations() }
    var report = try merge.decide(changes)
    if !needsCommit {
      guard merge.hasDecisions else { return MergeReport(isMerged: !options.isDryRun) }
      try requireSameMigrations()
    }
    if case .fail = policy, !report.conflicts.isEmpty { return report }
    if options.isDryRun {
      try merge.openContents()
    } else {
      report = try merge.apply()
      report.isMerged = true
      try input.note(mine, merge.debts)
    }
    for store in input.read { try store.connections.original?.requireUnchanged() }
    return report
  }
}

/// The attachments whose contents one of the stores lacks after the merge of a changeset.
package struct AttachmentDebts: Sendable {
  /// The attachments that the sender lacks, although it includes their dots.
  package var owed: Set<UniqueID> = []
  /// The attachments that the changeset lists without contents, and that this store doesn't have.
  package var wanted: Set<UniqueID> = []
}

/// The other side of a merge, and the other stores that the merge reads.
private struct MergeInput {
  enum Other {
    case store(StoreTransaction)
    case changeset(ChangesetReader)
  }

  private let other: Other
  /// The other side's name in errors.
  let path: String
  /// The stores that the merge reads. Their files must not change during the merge.
  var read: [StoreEngine] = []
  var base: CloneBase?
  /// Whether the other side and this store can have different names for the same commits.
  var isRenamed = false
  /// Called before the commit.
  var note: (StoreTransaction, AttachmentDebts) throws(StoreError) -> Void = { _, _ throws(StoreError) in }

  init(_ other: Other, at path: String) {
    (self.other, self.path) = (other, path)
  }

  var isChangeset: Bool {
    if case .changeset = other { true } else { false }
  }

  func open(beside here: PairedStore, _ options: MergeOptions) throws(StoreError) -> any OtherSide {
    switch other {
    case .store(let transaction):
      let there = PairedStore(transaction, hint: "verify it, and merge with a sound copy of it")
      if !options.allowsRekey {
        try here.requireSameRootKey(as: there)
        if let base { try here.requireSameRootKey(as: base.store) }
      }
      return try OtherStore(there, mine: here, base: base)
    case .changeset(let reader):
      let rows = try OtherChangeset.naming(path) { () throws(StoreError) in try ChangesetRows(reader) }
      return try OtherChangeset(rows, named: path, mine: here)
    }
  }
}

/// A merge of another store's changes, which makes all decisions before it writes rows (FORMAT, "Merging").
final class StoreMerge {
  let here: PairedStore
  let other: any OtherSide
  let replicas: JointReplicas
  private let isRenamed: Bool
  private let policy: MergePolicy
  let options: MergeOptions
  private let progress: ProgressHandler?
  /// The dot of the merging transaction.
  let fresh: Dot
  let documents: MyDocuments
  let attachments: JointAttachments

  // MARK: Decisions

  var mine: StoreTransaction { here.transaction }

  private(set) var collections: [CollectionDecision] = []
  var decisions: [DocumentDecision] = []
  var copies: [CopyDecision] = []
  var attachmentDecisions: [AttachmentDecision] = []
  /// This store's attachments that the other store removed.
  var removed: Set<UniqueID> = []
  /// The documents that get, lose or rename an attachment, with the other store's IDs if it has the documents.
  var changedByAttachments: [Int64: Int64?] = [:]
  /// The documents with attachments or attachment names that the other store lacks, although it includes their dots.
  var untold: Set<Int64> = []
  /// The attachments whose contents one of the stores lacks, after the merge of a changeset.
  var debts = AttachmentDebts()
  /// The documents in this store after the merge, by the other store's IDs.
  var homes: [Int64: MergeHome?] = [:]
  var entries: [MergeReport.Entry] = []
  /// The identities of the other store's changed documents.
  private var theirs: Set<UniqueID> = []

  /// - Parameters:
  ///   - isChangeset: Whether the other side is a changeset, so missing rows don't have a meaning.
  ///   - isRenamed: Whether the other side and this store can have different names for the same commits.
  init(
    _ here: PairedStore, _ other: any OtherSide, _ changes: OtherChanges, isChangeset: Bool,
    isRenamed: Bool, _ policy: MergePolicy, _ options: MergeOptions, _ progress: ProgressHandler?
  ) throws(StoreError) {
    self.here = here
    self.other = other
    self.isRenamed = isRenamed
    self.policy = policy
    self.options = options
    self.progress = progress
    replicas = other.replicas
    fresh = Dot(
      replica: replicas.joined.own, counter: max(replicas.greatestCounter, here.transaction.start.counter) + 1)
    documents = MyDocuments(here, lookingUpAll: isRenamed)
    try here.naming { () throws(StoreError) in
      try here.transaction.storedCollections().requireDistinctIdentities()
    }
    // A deletion can apply to any attachment. Otherwise, a changeset affects just its own documents' attachments.
    let mine =
      isChangeset && changes.deletions.isEmpty
      ? try Self.attachments(here, of: changes.documents, other, documents)
      : try MergeAttachment.all(of: here) { dot in dot }
    attachments = JointAttachments(mine: mine, theirs: changes.attachments)
  }

  /// Returns this store's attachments of the other side's documents.
  private static func attachments(
    _ here: PairedStore, of ids: [Int64], _ other: any OtherSide, _ documents: MyDocuments
  ) throws(StoreError) -> [UniqueID: MergeAttachment] {
    var known: [UniqueID: MergeAttachment] = [:]
    guard here.transaction.state.attachmentCount > 0 else { return known }
    for id in ids {
      guard let mine = try documents.find(try other.document(id), other.replicas) else { continue }
      for record in try here.attachments(of: DocumentID(mine.id)) {
        known[record.uid] = try MergeAttachment(record) { dot in dot }
      }
    }
    return known
  }

  /// Decides how to merge every change, without writing.
  func decide(_ changes: OtherChanges) throws -> MergeReport {
    for record in changes.collections { try decide(record) }
    theirs.reserveCapacity(changes.documents.count)
    for (index, id) in changes.documents.enumerated() {
      if index.isMultiple(of: 256) { try progress?(WorkProgress(done: index, total: changes.documents.count)) }
      try decide(id)
    }
    try documents.prepare(changes.deletedIDs)
    for deletion in changes.deletions { try decide(deletion) }
    try decideAttachments()
    try decideCopies()
    try progress?(
      WorkProgress(done: changes.documents.count, total: changes.documents.count, phase: .finishing))
    return MergeReport(entries: entries, isMerged: false)
  }

  /// Whether the merge writes any rows.
  var hasDecisions: Bool {
    !collections.isEmpty || !decisions.isEmpty || !copies.isEmpty || !attachmentDecisions.isEmpty
  }

  /// Opens the texts and attachments that the decisions need, so a dry run finds the same damage as the merge.
  func openContents() throws(StoreError) {
    for decision in decisions {
      switch decision {
      case .add(let theirs, _, _): _ = try other.text(theirs.id)
      case .join(let mine, let theirs, let joined, _):
        try openText(here: mine.id)
        if joined.takesText { _ = try other.text(theirs.id) }
      case .keep, .delete, .remove, .deletion, .newDeletion: break
      }
    }
    for copy in copies where copy.isNew {
      if copy.side == .mine { try openText(here: copy.document.id) } else { _ = try other.text(copy.document.id) }
    }
    for case .copy(let theirs, _) in attachmentDecisions { try other.prove(theirs, advance: tell) }
  }

  /// Reports progress during work on contents. The caller can stop the merge.
  func tell() throws(StoreError) {
    try WorkProgress(done: theirs.count, total: theirs.count, phase: .finishing)
      .tell(progress, stopped: "the merge was stopped; nothing was changed")
  }

  private func openText(here id: Int64) throws(StoreError) { _ = try here.document(id, acceptingNewer: true) }

  private func decide(_ id: Int64) throws {
    let document: MergeDocument
    do throws(StoreError) {
      document = try other.document(id)
      if options.skipsDamaged { _ = try other.text(id) }
    } catch {
      guard error.code == .damaged, options.skipsDamaged else { throw error }
      homes[id] = .some(nil)
      return note(.skipped, .damagedThere, otherID: id)
    }
    guard theirs.insert(document.uid).inserted else {
      throw StoreError(.setMismatch, "two documents have one identity, one is \(id)", documentID: DocumentID(id))
    }
    let isKnown = !options.verifiesOther && replicas.iInclude(document.dots.stamp)
    let areAttachmentsKnown = isKnown && replicas.iInclude(attachments.dots(ofTheirs: id))
    if areAttachmentsKnown, !isRenamed { return }
    if let here = try documents.find(document, replicas) {
      if !isKnown || isRenamed { try join(here, document, isKnown: isKnown) }
      homes[id] = MergeHome(uid: here.uid, id: here.id)
    } else if areAttachmentsKnown {
      return
    } else if !documents.neverHad(document, replicas), let deletion = try documents.deletion(of: document.uid) {
      homes[id] = .some(nil)
      try decideDeletedHere(document, deletion)
    } else {
      add(document, document.dots, deletion: nil)
      note(.added, .addedThere, otherID: id)
    }
  }

  private func add(_ document: MergeDocument, _ dots: DocumentDots, deletion: DeletionRecord?) {
    decisions.append(.add(document, dots, deletion: deletion))
    homes[document.id] = MergeHome(uid: document.uid, id: nil)
  }

  // MARK: Both have it

  /// - Parameter isKnown: Whether this store includes the other state. The states can then differ only if one of the
  ///   stores compared commits under other names.
  private func join(_ here: MergeDocument, _ there: MergeDocument, isKnown: Bool) throws {
    var joined = try JoinedDocument(here, there, replicas)
    let isUndone =
      isRenamed
      && joined.parts.contains { part in
        part.mine != part.theirs && replicas.iInclude(part.theirs) && replicas.theyInclude(part.mine)
      }
    guard !isKnown || isUndone else { return }
    try decideContents(&joined, here, there)
    try decidePlace(&joined, here, there)
    var dots = here.dots
    dots.born = joined.born.dot
    (dots.text, dots.title, dots.key, dots.place) = (
      joined.text.dot, joined.title.dot, joined.key.dot, joined.place.dot
    )
    let values = joined.memberValues(here, there)
    let memberDots = joined.members.mapValues(\.dot).filter { !$0.value.isZero || values[$0.key] != nil }
    dots.setMembers(memberDots, present: Array(values.keys))
    // Each side may have kept the document despite a deletion that the other side doesn't include yet. Use a new dot to
    // show the other replicas that the result outlives both deletions.
    let areKeptApart =
      here.dots.kept != there.dots.kept && !replicas.iInclude(there.dots.kept) && !replicas.theyInclude(here.dots.kept)
    dots.kept = joined.takesByChoice || areKeptApart ? fresh : replicas.later(here.dots.kept, there.dots.kept)
    let isMine = joined.parts.allSatisfy(\.isMine) && dots.kept == here.dots.kept
    let isTheirs = joined.parts.allSatisfy(\.isTheirs) && dots.kept == there.dots.kept
    switch (isMine, isTheirs) {
    case (true, true): dots.stamp = replicas.later(here.dots.stamp, there.dots.stamp)
    // The other store decided for a different side, so it needs this store's decision.
    case (true, false) where isUndone: dots.stamp = fresh
    case (true, false): dots.stamp = here.dots.stamp
    case (false, true): dots.stamp = there.dots.stamp
    case (false, false): dots.stamp = fresh
    }
    if let side = joined.lostText {
      // A losing text becomes a separate document and keeps its dot, so every replica creates the same document.
      copies.append(try CopyDecision(side, here, there, replicas))
      note(.copied, joined.text.isConflict ? .editedOnBothSides : .editedThere, otherID: there.id)
    }
    guard !isMine || dots.stamp != here.dots.stamp else { return }
    decisions.append(.join(here, there, joined, dots))
  }

  private func decideContents(_ joined: inout JoinedDocument, _ here: MergeDocument, _ there: MergeDocument) throws {
    let reason = MergeReport.Reason.editedOnBothSides
    guard joined.contents.contains(where: \.isConflict) else {
      let isTaken = joined.contents.contains { $0.side == .theirs && !$0.areEqual }
      let hasDates = (here.created, here.modified) != (there.created, there.modified)
      if isTaken
        || hasDates && joined.parts.allSatisfy(\.isTheirs)
          && (!joined.parts.allSatisfy(\.isMine) || replicas.isBefore(here.dots.stamp, there.dots.stamp))
      {
        note(.changed, .editedThere, id: here.id, otherID: there.id)
      }
      return
    }
    let choice = try choose(reason, mine: here.id, theirs: there.id, withTexts: true)
    switch choice {
    case .mine, .theirs:
      let hasLostText = joined.text.isConflict
      joined.changeContents { part in
        guard part.isConflict else { return }
        part.side = choice == .mine ? .mine : .theirs
        part.dot = choice == .mine ? fresh : part.theirs
      }
      if hasLostText { joined.lostText = nil }
      if choice == .theirs { joined.takesByChoice = true }
      note(choice == .mine ? .kept : .changed, reason, id: here.id, otherID: there.id)
    case .both where joined.text.isConflict: break
    case .both:
      let takesTheirs = joined.contents.contains { $0.isConflict && $0.side == .theirs }
      note(takesTheirs ? .changed : .kept, reason, id: here.id, otherID: there.id)
    }
  }

  private func decidePlace(_ joined: inout JoinedDocument, _ here: MergeDocument, _ there: MergeDocument) throws {
    let reason = MergeReport.Reason.movedOnBothSides
    guard joined.place.isConflict else {
      if joined.place.side == .theirs, !joined.place.areEqual {
        note(.moved, .movedThere, id: here.id, otherID: there.id)
      }
      return
    }
    switch try choose(reason, mine: here.id, theirs: there.id) {
    case .mine: (joined.place.side, joined.place.dot) = (.mine, fresh)
    case .theirs:
      (joined.place.side, joined.place.dot) = (.theirs, joined.place.theirs)
      joined.takesByChoice = true
    case .both: break
    }
    note(joined.place.side == .mine ? .kept : .moved, reason, id: here.id, otherID: there.id)
  }

  // MARK: One side has deleted it

  private func decide(_ theirs: DeletionRecord) throws {
    guard !self.theirs.contains(theirs.uid), attachments.theirs[theirs.uid] == nil else {
      throw StoreError(.setMismatch, "a document or an attachment is there, and its deletion, too")
    }
    if let mine = attachments.mine[theirs.uid] { return try remove(mine, theirs) }
    if try documents.deletion(of: theirs.uid) == nil, let here = try documents.document(theirs.uid) {
      try decideDeletedThere(here, theirs)
    } else {
      try delete(nil, theirs)
    }
  }

  private func decideDeletedThere(_ here: MergeDocument, _ deletion: DeletionRecord) throws {
    if replicas.theyInclude(try dots(ofMine: here)) {
      note(.deleted, .deletedThere, id: here.id)
      return try delete(here, deletion)
    }
    guard !replicas.iInclude(deletion.dots) else { return }
    let reason = MergeReport.Reason.editedHereDeletedThere
    let choice = try choose(reason, mine: here.id, withTexts: true)
    if choice == .theirs {
      note(.deleted, reason, id: here.id)
      return try delete(here, deletion, byChoice: true)
    }
    note(.kept, reason, id: here.id)
    decisions.append(.keep(here, kept(here.dots, byChoice: choice == .mine)))
  }

  private func decideDeletedHere(_ there: MergeDocument, _ deletion: DeletionRecord) throws {
    let theyKnow = replicas.theyInclude(deletion.dots)
    if replicas.iInclude(dots(ofTheirs: there)) {
      // The other store kept the document because of an edit, which this store also deleted. Renew the stamp to pass
      // that on.
      if replicas.theyInclude(deletion.stamp) { decisions.append(.deletion(deletion, deletion.dots, fresh)) }
      return
    }
    guard !theyKnow else {
      add(there, kept(there.dots, byChoice: false), deletion: deletion)
      return note(.added, .addedThere, otherID: there.id)
    }
    let reason = MergeReport.Reason.deletedHereEditedThere
    let choice = try choose(reason, theirs: there.id, withTexts: true)
    if choice == .mine {
      note(.kept, reason, otherID: there.id)
      return decisions.append(.deletion(deletion, united(deletion.dots + [fresh]), fresh))
    }
    note(.added, reason, otherID: there.id)
    add(there, kept(there.dots, byChoice: choice == .theirs), deletion: deletion)
  }

  /// Returns the dots of a kept document that the other side deleted.
  ///
  /// The new stamp passes the decision on to every other store. The `kept` dot is the same, because a restored document
  /// can be older than the deleted document, and must then win. A person's choice is an edit.
  private func kept(_ dots: DocumentDots, byChoice: Bool) -> DocumentDots {
    var dots = dots
    if byChoice, isDecided { dots.born = fresh }
    (dots.stamp, dots.kept) = (fresh, fresh)
    return dots
  }

  func delete(_ here: MergeDocument?, _ theirs: DeletionRecord, byChoice: Bool = false) throws {
    let own = try documents.deletion(of: theirs.uid)
    let all = united((own?.dots ?? []) + theirs.dots + (byChoice ? [fresh] : []))
    let stamps = [own.map { ($0.dots, $0.stamp) }, (theirs.dots, theirs.stamp)].compactMap { $0 }
      .filter { united($0.0) == all }.map(\.1)
    let stamp = stamps.dropFirst().reduce(stamps.first) { replicas.later($0!, $1) } ?? fresh
    if let here { return decisions.append(.delete(here, theirs, all, stamp)) }
    if let own {
      if own.dots != all || own.stamp != stamp { decisions.append(.deletion(own, all, stamp)) }
    } else {
      decisions.append(.newDeletion(theirs, all, stamp))
    }
  }

  private func united(_ dots: [Dot]) -> [Dot] { Array(Set(dots)).sorted() }

  // MARK: Choices

  /// Whether the policy chooses a side, instead of keeping both versions.
  private var isDecided: Bool {
    switch policy {
    case .mine, .theirs, .custom: true
    case .fail, .both: false
    }
  }

  /// Returns the policy's choice for a conflict, or the choice that the caller's closure makes.
  ///
  /// - Parameter withTexts: Whether the caller's closure receives the texts.
  func choose(
    _ reason: MergeReport.Reason, mine id: Int64? = nil, theirs otherID: Int64? = nil, collection: UInt32? = nil,
    withTexts: Bool = false
  ) throws -> MergePolicy.Choice {
    switch policy {
    case .fail, .both: return .both
    case .mine: return .mine
    case .theirs: return .theirs
    case .custom(let decide):
      func text(_ id: Int64?, _ text: (Int64) throws(StoreError) -> String) throws(StoreError) -> String? {
        guard withTexts, let id else { return nil }
        return try text(id)
      }
      return try decide(
        MergeConflict(
          reason: reason, mine: try id.map { try mine.header(of: DocumentID($0)) },
          theirs: try otherID.map { try other.header($0) },
          myText: try text(id) { id throws(StoreError) in try mine.document(DocumentID(id)).text },
          theirText: try text(otherID) { id throws(StoreError) in try other.text(id) },
          collection: collection.map { CollectionID($0) }))
    }
  }

  func note(
    _ action: MergeReport.Action, _ reason: MergeReport.Reason, id: Int64? = nil, otherID: Int64? = nil,
    collection: UInt32? = nil
  ) {
    entries.append(
      MergeReport.Entry(
        id: id.map { DocumentID($0) }, otherID: otherID.map { DocumentID($0) },
        collection: collection.map { CollectionID($0) }, action: action, reason: reason))
  }

  /// Whether the merge compares all of the other store's documents, instead of only its changes.
  var readsWhole: Bool { options.verifiesOther }

  /// The added documents' collections.
  private(set) lazy var collectionOfAdded: [UniqueID: UniqueID] = {
    var known: [UniqueID: UniqueID] = [:]
    for case .add(let document, _, _) in decisions { known[document.uid] = document.place.collection }
    return known
  }()

  func add(_ decision: CollectionDecision) { collections.append(decision) }
}

/// The action for one document in a merge.
enum DocumentDecision {
  /// Adds the other store's document, and removes this store's deletion of the document, if any.
  case add(MergeDocument, DocumentDots, deletion: DeletionRecord?)
  /// Gives a document the joined parts of both stores.
  case join(MergeDocument, MergeDocument, JoinedDocument, DocumentDots)
  /// Keeps this store's document despite a deletion.
  case keep(MergeDocument, DocumentDots)
  /// Deletes a document. Carries the other store's deletion, the dots of all deletions, and a stamp.
  case delete(MergeDocument, DeletionRecord, [Dot], Dot)
  /// Removes a document because the same merge creates it anew.
  case remove(MergeDocument)
  /// Changes the dots and the stamp of this store's deletion.
  case deletion(DeletionRecord, [Dot], Dot)
  /// Adds a deletion.
  case newDeletion(DeletionRecord, [Dot], Dot)
}

/// The action for one collection in a merge.
enum CollectionDecision {
  case add(CollectionRecord)
  case change(CollectionRecord, from: CollectionRecord)
}

extension JoinedDocument {
  /// Whether the document gets the other store's text.
  var takesText: Bool { text.side == .theirs && !text.areEqual }

  mutating func changeContents(_ change: (inout Part) -> Void) {
    change(&text)
    change(&title)
    change(&key)
    for name in Array(members.keys) { change(&members[name]!) }
    takeSchemaWithText()
  }

  /// Returns the members of the joined attributes.
  func memberValues(_ mine: MergeDocument, _ theirs: MergeDocument) -> [[UInt8]: [UInt8]] {
    let (here, there) = (mine.memberValues, theirs.memberValues)
    var values: [[UInt8]: [UInt8]] = [:]
    for (name, part) in members { values[name] = part.side == .mine ? here[name] : there[name] }
    return values
  }
}
