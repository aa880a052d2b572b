/// One merge: the state of this store, the other side's changes, and the state that results.
struct Merge {
  /// The text that lost a conflict, and the record that it was part of.
  struct LostText {
    let document: RecordID
    let record: ModelRecord
    let text: Part
  }

  let mine: ModelStore
  let theirs: Changeset
  let policy: MergePolicy
  var result: ModelStore
  var report = Report()
  var lostTexts: [LostText] = []
  private var dot: Dot?

  init(mine: ModelStore, theirs: Changeset, policy: MergePolicy) {
    self.mine = mine
    self.theirs = theirs
    self.policy = policy
    result = mine
  }

  /// Returns the dot of this merge. A merge that writes anything of its own makes one commit.
  mutating func mergeDot() -> Dot {
    if let dot { return dot }
    let new = result.commit()
    dot = new
    return new
  }

  mutating func run() throws(ModelError) {
    result.vector.formUnion(theirs.end)
    for (replica, marks) in theirs.marks where marks.endsWithOrAfter(mine.marks[replica] ?? CommitMarks()) {
      result.marks[replica] = marks
    }
    try mergeCollections()
    try mergeDocuments()
    mergeDeletions()
    mergeAttachments()
    for lost in lostTexts {
      keepBeside(lost)
    }
    for document in result.documents.keys {
      result.gone[document] = nil
    }
    reportMaskedKeys()
  }

  private mutating func mergeCollections() throws(ModelError) {
    for (collection, record) in theirs.collections.sorted(by: { $0.key < $1.key }) {
      if let own = mine.collections[collection] {
        result.collections[collection] = try joined(collection, own, record, isDocument: false)
      } else {
        result.collections[collection] = record
        note(.added, collection)
      }
    }
  }

  private mutating func mergeDocuments() throws(ModelError) {
    for (document, record) in theirs.documents.sorted(by: { $0.key < $1.key }) {
      if let own = mine.documents[document] {
        // A document with changes only to its attachments keeps its parts.
        guard !theirs.base.covers(record.stamp) else { continue }
        result.documents[document] = try joined(document, own, record, isDocument: true)
      } else if let entry = mine.gone[document] {
        receive(document, record, deletedHere: entry)
      } else {
        // The document is new here. That it was absent says nothing.
        result.documents[document] = record
        note(.added, document)
      }
    }
  }

  private mutating func mergeDeletions() {
    for (document, entry) in theirs.gone.sorted(by: { $0.key < $1.key }) {
      if let own = mine.documents[document] {
        receiveDeletion(of: document, own, entry)
      } else if result.documents[document] == nil {
        delete(document, entry)
      }
    }
  }

  private mutating func reportMaskedKeys() {
    let masked = Set(mine.keys.values).subtracting(result.keys.values)
    report.maskedKeys = masked.filter { result.documents[$0]?.key != nil }.sorted()
  }

  mutating func note(_ kind: Change.Kind, _ record: RecordID) {
    report.changes.append(Change(kind: kind, record: record))
  }
}
