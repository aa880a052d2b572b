internal import Coffer

// MARK: - Lists

extension Browser {
  func read<R>(_ body: (borrowing StoreReader) throws -> R) throws -> R {
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
  /// - Throws: `Stopped` when the user stops the wait; `Busy` after a moment, unless a key is worked on.
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

  /// Shows how far long work is; Escape and Ctrl-C stop it.
  func report(_ progress: WorkProgress, _ work: String) throws {
    if try keys.isStopRequested() { throw Stopped() }
    let percent = progress.fraction.map { " \(Int($0 * 100)) %" } ?? ""
    try drawLastLine(StyledText("\(work)\(percent); Escape stops it", .dim))
  }

  /// - Parameter isTyping: more letters of the search may follow: the next one stops it.
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

  /// Reads the lists again after commits, at most a tenth of the time.
  func followChanges() {
    guard let store, let watch, watch.commits != seenCommits || watch.hasEnded,
      Self.seconds - lastReload > max(0.5, 10 * reloadSeconds)
    else { return }
    if watch.hasEnded {
      // Another process changed the key, which this read notices, or held the store for long.
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
    // Tried again soon.
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
        // The keys of a text would be for its neighbour.
        if pane == .text { pane = .titles }
        message = StyledText(try missing(marked), .warning)
      }
      openMarked()
      // The reader of a text stays where they are in it.
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
  /// Says why a document is no longer in the list.
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

// MARK: - Texts

extension Browser {
  /// A longer text is opened when the user asks for it, not when the document is marked.
  static let previewBytes = 4 << 20
  /// The most hits that the library reports for a text.
  static let mostHits = 100
  /// Longer JSON is shown as it is stored.
  static let indentedBytes = 16 << 20

  /// Opens the marked document, unless it is open; an error is shown in the place of its text.
  func openMarked() {
    guard let id = markedID else {
      text = nil
      return
    }
    if text?.id == id { return }
    text = OpenText(id: id, header: nil, shown: ShownText(""))
    let search = list?.search
    attempt {
      do {
        text = try read { reader in
          let header = try reader.header(of: id)
          guard pane == .text || header.byteCount <= Self.previewBytes else {
            let size = ByteCount(header.byteCount)
            return OpenText(id: id, header: header, shown: ShownText("(\(size): Return opens it)"))
          }
          let match = try search.flatMap { try reader.match(of: $0.pattern(), in: id, fields: $0.fields) }
          return OpenText(
            id: id, header: header, shown: try reader.withText(of: id) { Self.shown($0, match) },
            titleHits: match?.titleRanges ?? [])
        }
      } catch let error as StoreError where error.code != .keyChanged {
        // Damage stays; a store that is busy is tried again.
        text = OpenText(id: id, header: nil, shown: ShownText(Self.line(Failure(error))))
      } catch {
        if error is Busy || error is Stopped { text = nil }
        throw error
      }
    }
    if text?.shown.hits.isEmpty == false, let height = textHeight { goToHit(0, height: height) }
  }

  /// Reads the headers of rows that are about to be shown.
  func readHeaders(_ ids: ArraySlice<DocumentID>) {
    let missing = ids.filter { headers[$0] == nil }
    guard !missing.isEmpty else { return }
    if headers.count > 5000 { headers = [:] }
    let search = list?.search
    attempt {
      try read { reader in
        for id in missing {
          // An error counts for this row only; the text's pane shows it when the row is marked.
          do {
            let match = try search.flatMap { try reader.match(of: $0.pattern(), in: id, fields: .title) }
            headers[id] = ListedHeader(
              header: try reader.header(of: id), hits: match?.titleRanges ?? [])
          } catch let error as StoreError where [.damaged, .noSuchDocument].contains(error.code) {
            headers[id] = .some(nil)
          }
        }
      }
    }
  }

  static func shown(_ document: OpenedDocument, _ match: SearchMatch?) -> ShownText {
    guard document.header.isJSON, document.header.byteCount <= indentedBytes else {
      return ShownText(Array(document.utf8), hits: match?.textRanges ?? [])
    }
    // A match counts the bytes of the string; where the JSON writes some of them in another way, the string is marked.
    let ranges = (match?.values ?? []).flatMap { value in
      document.utf8[value.place].contains(UInt8(ascii: "\\"))
        ? [value.place]
        : value.ranges.map { value.place.lowerBound + $0.lowerBound..<value.place.lowerBound + $0.upperBound }
    }
    let (bytes, hits) = JSONLayout.indented(document.utf8, marking: ranges)
    return ShownText(bytes, hits: hits)
  }

  func goToHit(_ hit: Int, height: Int) {
    guard let open = text, open.shown.hits.indices.contains(hit) else { return }
    let width = textWidth
    let place = open.shown.place(of: open.shown.hits[hit].lowerBound, width: width)
    text?.hit = hit
    // A hit that is on the screen leaves it as it is.
    let end = open.shown.moved(open.place, by: height - 1, width: width)
    if place < open.place || place > end {
      text?.place = min(
        open.shown.moved(place, by: -height / 3, width: width), open.shown.last(height: height, width: width))
    }
  }

  /// Goes a number of hits on, or back, in this text and in the next documents found.
  func step(_ direction: Int, times: Int) {
    guard let list, list.search != nil else {
      message = StyledText("nothing was searched for: / begins a search", .dim)
      return
    }
    attempt {
      for done in 0..<times {
        if done % 64 == 63 { try report(WorkProgress(done: done, total: times), "going on") }
        guard try step(direction, in: list) else {
          message = StyledText(direction > 0 ? "the last hit" : "the first hit", .dim)
          break
        }
      }
    }
  }

  /// - Returns: false at the end of the list.
  private func step(_ direction: Int, in list: DocumentList) throws -> Bool {
    if let open = text, let height = textHeight {
      let hit = (open.hit ?? -1) + direction
      if open.shown.hits.indices.contains(hit) {
        goToHit(hit, height: height)
        return true
      }
    }
    let next = documentLines.marked + direction
    guard list.ids.indices.contains(next) else { return false }
    documentLines.mark(next, of: list.ids.count)
    openMarked()
    if text == nil { throw Stopped() }
    if direction < 0, let open = text, let height = textHeight { goToHit(open.shown.hits.count - 1, height: height) }
    return true
  }

  func showFacts() {
    openMarked()
    guard let header = text?.header, let list else { return }
    var facts = [
      "id           \(header.id)", "collection   \(list.collection.name)", "position     \(header.position)",
      "title        \(header.title ?? "(none)")", "key          \(header.key.map(Self.name(of:)) ?? "(none)")",
      "size         \(grouped(header.byteCount)) bytes", "content      \(header.isJSON ? "JSON of a value" : "text")",
      "created      \(date(header.created))", "modified     \(date(header.modified))",
      "parent       \(header.parent.map { "document \($0)" } ?? "(none)")",
    ]
    if !header.attributes.isEmpty {
      let json = header.attributes.canonicalJSON.withUnsafeBytes { JSONLayout.indented($0, marking: []).0 }
      facts += ["", "attributes", String(decoding: json, as: UTF8.self)]
    }
    overlay = Overlay(title: "document \(header.id)", shown: ShownText(facts.joined(separator: "\n")))
  }

  /// A key that is not text is shown as its bytes.
  static func name(of key: ExternalKey) -> String {
    key.text ?? "base64:" + Base64.text(key.bytes)
  }

  func date(_ date: Timestamp) -> String {
    usesUTC ? date.description : LocalTime.text(date) ?? date.description
  }

  func edit() throws {
    guard let store, let id = markedID else { return }
    guard !store.isReadOnly else {
      message = StyledText("the store is open for reading only", .warning)
      return
    }
    var opened: TextEdit?
    attempt { opened = try read { try TextEdit(of: id, in: $0) } }
    guard let edit = opened else { return }
    screen.leave()
    let result = Result {
      try edit.run(in: store, with: Editor(), onDisk: false, Diagnostics(isQuiet: false))
    }
    try Interrupt.check()
    try screen.enter()
    canvas.forget()
    lastKeySeconds = Self.seconds
    reload()
    text = nil
    // A store that was locked meanwhile shows why.
    guard self.store != nil else { return }
    attempt { message = StyledText("document \(id) \(try result.get() == .stored ? "stored" : "is unchanged")", .dim) }
  }
}
