internal import Coffer
internal import CofferTerminal

extension Browser {
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    guard let store else { throw Stopped() }
    try waitUntilFree(store)
    do {
      return try store.read { try body($0) }
    } catch let error as StoreError where error.code == .locked {
      throw Busy()
    }
  }

  /// Waits while another process holds the store.
  ///
  /// - Throws: `Stopped` if the user stops the wait, or `Busy` after a moment unless ``isPatient`` is set.
  private func waitUntilFree(_ store: DocumentStore) throws {
    let probe = self.probe ?? LockProbe(store)
    self.probe = nil
    while !probe.hasEnded(within: 100) {
      guard isPatient else {
        self.probe = probe
        throw Busy()
      }
      try drawLastLine(StyledText("waiting for another process; Escape stops it", .warning))
      if try isIdle || keys.isStopRequested(orBy: [.character("q"), .character("Q"), .character("L"), .control("z")]) {
        throw Stopped()
      }
    }
  }

  func loadCollections() throws {
    listedCollections = try read { try $0.collections() }.sorted { $0.name < $1.name }
  }

  var markedCollection: CollectionInfo? {
    collections.indices.contains(collectionLines.marked) ? collections[collectionLines.marked] : nil
  }

  func openCollection(
    by order: DocumentList.Order = .position, descending: Bool = false, finding search: DocumentList.Search? = nil
  ) throws {
    guard let collection = markedCollection else { return }
    list = try read { reader in
      try DocumentList(of: collection, in: reader, by: order, descending: descending) {
        try report($0, "reading titles")
      }
    }
    documentLines = Scroller()
    defer { pane = .titles }
    if let search { try find(search) }
    (text, headers) = (nil, [:])
  }

  /// Shows the progress of long work. Escape and Ctrl-C stop it.
  func report(_ progress: WorkProgress, _ work: String) throws {
    if try keys.isStopRequested() { throw Stopped() }
    let percent = progress.fraction.map { " \(Int($0 * 100)) %" } ?? ""
    try drawLastLine(StyledText("\(work)\(percent); Escape stops it", .dim))
  }

  /// Shows the documents that match a search, or all documents.
  ///
  /// - Parameters:
  ///   - search: The search, or `nil` to show all documents.
  ///   - isTyping: Whether the user is typing the search. The next letter stops it.
  func find(_ search: DocumentList.Search?, isTyping: Bool = false) throws {
    guard var found = list else { return }
    let marked = markedID
    try read { reader in
      try found.find(search, in: reader) { progress in
        if isTyping {
          if self.keys.isWaiting { throw Stopped() }
        } else {
          try self.report(progress, "searching")
        }
      }
    }
    setList(found, marking: marked)
  }

  func sort(by order: DocumentList.Order, descending: Bool) throws {
    guard var sorted = list else { return }
    let marked = markedID
    try read { reader in
      try sorted.sort(by: order, descending: descending, in: reader) { try report($0, "sorting") }
    }
    setList(sorted, marking: marked)
  }

  func setList(_ new: DocumentList, marking id: DocumentID?) {
    list = new
    documentLines.mark(new.index(of: id, near: documentLines.marked), of: new.ids.count)
    (text, headers) = (nil, [:])
  }

  var markedID: DocumentID? {
    guard let list, documentLines.marked < list.ids.count else { return nil }
    return list.ids[documentLines.marked]
  }

  /// Reloads the lists after commits. Spends at most a tenth of the time on it.
  func followChanges() {
    guard let store, let watch, watch.commits != seenCommits || watch.hasEnded,
      Self.seconds - lastReload > max(0.5, 10 * reloadSeconds)
    else { return }
    if watch.hasEnded {
      // Read the store, because another process might have changed the key, or held the store for long.
      (self.watch, seenCommits, lastReload) = (ChangeWatch(store), -1, Self.seconds)
      attempt { try read { _ in } }
    }
    if self.store == nil || prompt != nil || question != nil { return }
    seenCommits = self.watch?.commits ?? 0
    reload()
  }

  func reload() {
    let began = Self.seconds
    isBusy = false
    // Retry soon.
    defer { if isBusy || listedCollections == nil { seenCommits = -1 } }
    attempt(orShow: "stopped; R shows the latest changes") {
      let number = markedCollection?.id
      try loadCollections()
      if let index = collections.firstIndex(where: { $0.id == list?.collection.id ?? number }) {
        collectionLines.mark(index, of: collections.count)
      }
      guard let old = list else { return }
      guard let collection = collections.first(where: { $0.id == old.collection.id }) else {
        (list, text, pane) = (nil, nil, .collections)
        message = StyledText("the collection was deleted by another process", .warning)
        return
      }
      let (marked, before) = (markedID, text)
      var new = try read { reader in
        try DocumentList(of: collection, in: reader, by: old.order, descending: old.isDescending) {
          try report($0, "reading titles")
        }
      }
      if let search = old.search {
        try read { reader in try new.find(search, in: reader) { try self.report($0, "searching") } }
      }
      setList(new, marking: marked)
      if let marked, markedID != marked {
        // Leave the text, because keys would otherwise apply to another document.
        if pane == .text { pane = .titles }
        message = StyledText(try missing(marked), .warning)
      }
      openMarked()
      // Keep the place in the text.
      if let before, before.id == text?.id {
        text?.place = before.place
        if let hit = before.hit, text?.shown.hits.indices.contains(hit) == true { text?.hit = hit }
      }
    }
    lastReload = Self.seconds
    reloadSeconds = lastReload - began
  }
}

extension Browser {
  /// Returns the reason why a document isn't in the list anymore.
  private func missing(_ id: DocumentID) throws -> String {
    do {
      let collection = try read { try $0.header(of: id) }.collection
      return "document \(id) "
        + (collection == list?.collection.id ? "is no longer found" : "is in another collection now")
    } catch let error as StoreError where error.code == .noSuchDocument {
      return "document \(id) was deleted"
    }
  }
}
