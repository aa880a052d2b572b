package import CofferEngine
package import CofferRecords
internal import CofferSealing

extension StoreTransaction {
  /// Gives this store a new identity, also for its own commits after a counter.
  ///
  /// Byte-for-byte copies of a file make commits with the same names. The file that calls this method keeps its changes
  /// under new names, so both files' changes exist. Reads all rows, and writes the rows with such commits.
  ///
  /// - Parameters:
  ///   - counter: The last common counter of both files, or `nil` if there are no later commits.
  ///   - published: The last counter of the commits that other stores also have, and these stores' name for them.
  package func renewIdentity(after counter: UInt64?, published: (counter: UInt64, name: UniqueID)?) throws(StoreError) {
    let writer = try writer
    let old = try writer.upcomingDot().replica
    try PairedStore(self).requireWhole()
    try writer.willWrite()
    try writer.renewReplica()
    let own = writer.dot.replica
    guard let counter else { return }
    let shared = try published.map { published throws(StoreError) in
      try add(published.name, through: published.counter, of: old)
    }
    try renameCommits(of: old, after: counter) { dot in
      if let shared, let published, dot.counter <= published.counter { return shared }
      return own
    }
  }

  /// Gives another replica's commits after a counter a separate name, because the replica has made other commits with
  /// the same names. Reads all rows, and writes the rows with such commits.
  ///
  /// - Parameters:
  ///   - identity: The replica.
  ///   - name: The name of these commits in every store.
  package func splitCommits(of identity: UniqueID, after counter: UInt64, as name: UniqueID) throws(StoreError) {
    guard let old = try replicas.number(of: identity), case let last = try replicas[old].counter, last > counter else {
      return
    }
    try PairedStore(self).requireWhole()
    try writer.willWrite()
    let new = try add(name, through: last, of: old)
    try renameCommits(of: old, after: counter) { _ in new }
  }

  /// Adds a replica for another replica's commits.
  private func add(_ name: UniqueID, through last: UInt64, of old: UInt32) throws(StoreError) -> UInt32 {
    let (writer, range) = (try writer, try replicas[old].range)
    try writer.changeReplicas { replicas throws(StoreError) in
      if let number = replicas.number(of: name) {
        guard replicas[number].counter < last else { return }
        replicas[number].counter = last
        replicas[number].rose = writer.revision
      } else {
        _ = try replicas.add(Replica(identity: name, counter: last, range: range, rose: writer.revision))
      }
    }
    return try replicas.number(of: name)!
  }

  private func renameCommits(of old: UInt32, after limit: UInt64, to name: (Dot) -> UInt32) throws(StoreError) {
    func renamed(_ dot: Dot) -> Dot {
      dot.replica == old && dot.counter > limit ? Dot(replica: name(dot), counter: dot.counter) : dot
    }
    try renameCollections(renamed)
    try renameDeletions(renamed)
    try renameAttachments(renamed)
    try renameDocuments(renamed)
    try writer.changeReplicas { replicas throws(StoreError) in
      replicas[old].counter = min(replicas[old].counter, limit)
      replicas[old].marks.removeAll { $0.counter > limit }
    }
  }

  private func renameCollections(_ renamed: (Dot) -> Dot) throws(StoreError) {
    for record in try storedCollections() {
      var changed = record
      changed.dots = record.dots.mapped(renamed)
      guard changed.dots != record.dots else { continue }
      changed.revision = try writer.revision
      try writer.replaceCollection(with: changed)
    }
  }

  private func renameDeletions(_ renamed: (Dot) -> Dot) throws(StoreError) {
    var changed: [(DeletionRow, DeletionRecord)] = []
    try DeletionWalk.forEach(database, within: limits) { row throws(StoreError) in
      let record = try DeletionRecord(row, keys)
      let new = record.mapped(renamed)
      if new != record { changed.append((row, new)) }
    }
    for (row, record) in changed {
      var record = record
      record.revision = try writer.revision
      try writer.replaceDeletion(row, with: record)
    }
  }

  private func renameAttachments(_ renamed: (Dot) -> Dot) throws(StoreError) {
    var changed: [(AttachmentRow, AttachmentRecord)] = []
    try forEachAttachmentRow { row throws(StoreError) in
      var record = try AttachmentRecord(row, keys)
      guard renamed(record.born) != record.born || renamed(record.nameDot) != record.nameDot else { return }
      (record.born, record.nameDot) = (renamed(record.born), renamed(record.nameDot))
      changed.append((row, record))
    }
    for (row, record) in changed {
      var record = record
      record.revision = try writer.revision
      try writer.replaceAttachment(
        try row.element(keys), with: record, of: try unverifiedFields(of: DocumentID(row.document)))
    }
  }

  private func renameDocuments(_ renamed: (Dot) -> Dot) throws(StoreError) {
    var changed: [(id: Int64, dots: DocumentDots)] = []
    try PairedStore(self).forEachRow { row, head throws(StoreError) in
      let dots = DocumentDots(checked: head.dots)
      let new = dots.mapped(renamed)
      if new != dots { changed.append((row.fields.id, new)) }
    }
    for (id, dots) in changed {
      try writer.rewrite(DocumentID(id), changing: [], [], as: .head, acceptingNewer: true) {
        content, _ throws(StoreError) in
        content.history.dots = dots.bytes
      }
    }
  }
}

extension DocumentDots {
  /// Returns the dots after mapping each dot.
  func mapped<E>(_ change: (Dot) throws(E) -> Dot) throws(E) -> DocumentDots {
    var dots = self
    dots.born = try change(born)
    dots.text = try change(text)
    dots.title = try change(title)
    dots.key = try change(key)
    dots.attributes = try change(attributes)
    dots.place = try change(place)
    for index in members.indices { dots.members[index].dot = try change(members[index].dot) }
    dots.stamp = try change(stamp)
    dots.kept = try change(kept)
    return dots
  }
}

extension DeletionRecord {
  /// Returns the deletion after mapping each dot. Two dots can become equal.
  func mapped(_ change: (Dot) -> Dot) -> DeletionRecord {
    var record = self
    record.dots = Set(dots.map(change)).sorted()
    record.stamp = change(stamp)
    return record
  }
}

extension CollectionDots {
  /// Returns the dots after mapping each dot.
  func mapped<E>(_ change: (Dot) throws(E) -> Dot) throws(E) -> CollectionDots {
    var dots = self
    dots.born = try change(born)
    dots.name = try change(name)
    dots.settings = try change(settings)
    dots.dropped = try change(dropped)
    dots.stamp = try change(stamp)
    return dots
  }
}
