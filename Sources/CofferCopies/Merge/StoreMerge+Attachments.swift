internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

// A document has the attachments of both stores, except the attachments that either store removed.

extension StoreMerge {
  /// Decides about attachments, after all documents and deletions are decided.
  func decideAttachments() throws {
    guard !attachments.isEmpty else { return }
    for theirs in attachments.theirs.values.sorted(by: { $0.number < $1.number }) {
      if let mine = attachments.mine[theirs.uid] {
        try join(mine, theirs)
      } else if try documents.deletion(of: theirs.uid) == nil, let home = try home(of: theirs.document) {
        try take(theirs, to: home)
      }
    }
    try findUntold()
    try tellUntold()
    noteChangedAttachments()
  }

  /// Returns the dots of a document of this store, and of its attachments.
  func dots(ofMine document: MergeDocument) throws(StoreError) -> [Dot] {
    guard !attachments.mine.isEmpty else { return document.partDots }
    return document.partDots
      + (try here.attachments(of: DocumentID(document.id)).flatMap { [$0.born, $0.nameDot] })
  }

  /// Returns the dots of a document of the other store, and of its attachments.
  func dots(ofTheirs document: MergeDocument) -> [Dot] { document.partDots + attachments.dots(ofTheirs: document.id) }

  /// Removes this store's attachment, because the other store removed it.
  func remove(_ mine: MergeAttachment, _ deletion: DeletionRecord) throws {
    attachmentDecisions.append(.remove(mine))
    removed.insert(mine.uid)
    if changedByAttachments[mine.document] == nil { changedByAttachments.updateValue(nil, forKey: mine.document) }
    try delete(nil, deletion)
  }

  // MARK: Attachments of both stores

  /// Takes the later of both names. The content never changes.
  private func join(_ mine: MergeAttachment, _ theirs: MergeAttachment) throws(StoreError) {
    guard mine.digest == theirs.digest, mine.byteCount == theirs.byteCount, try haveOneDocument(mine, theirs) else {
      return try other.naming { () throws(StoreError) -> Void in throw .otherContent(theirs.number) }
    }
    guard mine.nameDot != theirs.nameDot || mine.name.isIdentical(to: theirs.name) else { throw JointReplicas.clone }
    let born = replicas.later(mine.born, theirs.born)
    let nameDot = replicas.later(mine.nameDot, theirs.nameDot)
    if born != mine.born || nameDot != mine.nameDot {
      let name = nameDot == mine.nameDot ? mine.name : theirs.name
      attachmentDecisions.append(.change(mine, name: name, born: born, nameDot: nameDot))
      if !name.isIdentical(to: mine.name) { changedByAttachments[mine.document] = theirs.document }
    }
    if born != theirs.born && replicas.theyInclude(born) || nameDot != theirs.nameDot && replicas.theyInclude(nameDot) {
      untold.insert(mine.document)
    }
  }

  private func haveOneDocument(_ mine: MergeAttachment, _ theirs: MergeAttachment) throws(StoreError) -> Bool {
    guard mine.document != theirs.document else { return true }
    return try documents.document(id: mine.document)?.uid == other.document(theirs.document).uid
  }

  // MARK: Attachments of the other store

  private func take(_ theirs: MergeAttachment, to home: MergeHome) throws {
    do throws(StoreError) {
      if options.skipsDamaged { try other.prove(theirs, advance: tell) }
    } catch {
      guard error.code == .damaged else { throw error }
      return note(.skipped, .damagedThere, otherID: theirs.document)
    }
    guard other.hasContent(of: theirs) else {
      debts.wanted.insert(theirs.uid)
      return
    }
    attachmentDecisions.append(.copy(theirs, to: home))
    if let id = home.id { changedByAttachments[id] = theirs.document }
  }

  /// Returns the document that one of the other store's documents is in this store after the merge, or `nil` if this
  /// store doesn't have it.
  private func home(of id: Int64) throws -> MergeHome? {
    if let known = homes[id] { return known }
    var home: MergeHome?
    do throws(StoreError) {
      let document = try other.document(id)
      if try documents.deletion(of: document.uid) == nil, let here = try documents.find(document, replicas) {
        home = MergeHome(uid: here.uid, id: here.id)
      }
    } catch {
      guard error.code == .damaged, options.skipsDamaged else { throw error }
    }
    homes[id] = .some(home)
    return home
  }

  // MARK: Attachments that the other store lost

  /// Finds the documents with attachments that the other store lost, although it included them. It deleted the
  /// document, and got it back from a store that didn't have the attachment yet.
  private func findUntold() throws(StoreError) {
    var lost: [Int64: [UniqueID]] = [:]
    for mine in attachments.mine.values where attachments.theirs[mine.uid] == nil && !removed.contains(mine.uid) {
      if replicas.theyInclude(mine.dots) { lost[mine.document, default: []].append(mine.uid) }
    }
    for (id, uids) in lost {
      guard let here = try documents.document(id: id), try other.hasDocument(here.uid, likely: id) else { continue }
      untold.insert(id)
      debts.owed.formUnion(uids)
    }
  }

  /// Renews the documents' stamps, because the other store includes the dots of its missing attachments.
  private func tellUntold() throws(StoreError) {
    guard !untold.isEmpty else { return }
    var indexes: [UniqueID: Int] = [:]
    for (index, decision) in decisions.enumerated() { indexes[decision.uid] = index }
    for id in untold.sorted() {
      guard let document = try documents.document(id: id) else { continue }
      guard let index = indexes[document.uid] else {
        var dots = document.dots
        dots.stamp = fresh
        decisions.append(.keep(document, dots))
        continue
      }
      guard case .join(let mine, let theirs, let joined, var dots) = decisions[index] else { continue }
      dots.stamp = fresh
      decisions[index] = .join(mine, theirs, joined, dots)
    }
  }

  // MARK: The report

  /// Adds an entry for each document with changed attachments, unless it already has an entry.
  private func noteChangedAttachments() {
    var known = Set(entries.filter { $0.action == .changed || $0.action == .deleted }.compactMap(\.id))
    for (id, otherID) in changedByAttachments.sorted(by: { $0.key < $1.key }) {
      guard known.insert(DocumentID(id)).inserted else { continue }
      note(.changed, .editedThere, id: id, otherID: otherID)
    }
  }
}
