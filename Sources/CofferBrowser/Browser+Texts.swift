internal import Coffer
internal import CofferDocuments
internal import CofferEngine
internal import CofferTerminal

extension Browser {
  /// The maximum size of a text to open when its document is marked. Return opens a longer text.
  static let previewBytes = 4 << 20
  /// The maximum number of hits that the library reports for a text.
  static let mostHits = 100
  /// The maximum size of JSON to indent. Longer JSON is shown in its stored form.
  static let indentedBytes = 16 << 20

  /// Opens the marked document if it isn't open. Shows an error instead of its text.
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
        // Show the error, because a retry gives the same error.
        text = OpenText(id: id, header: nil, shown: ShownText(line(for: error)))
      } catch {
        if error is Busy || error is Stopped { text = nil }
        throw error
      }
    }
    if text?.shown.hits.isEmpty == false, let height = textHeight { goToHit(0, height: height) }
  }

  /// Reads the headers of rows before they're shown.
  func readHeaders(_ ids: ArraySlice<DocumentID>) {
    let missing = ids.filter { headers[$0] == nil }
    guard !missing.isEmpty else { return }
    if headers.count > 5000 { headers = [:] }
    let search = list?.search
    attempt {
      try read { reader in
        for id in missing {
          // Mark only this row as unreadable. The pane of the text shows the error when the row is marked.
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
    // A match counts bytes of the decoded string. If the JSON contains escapes, highlight the whole string.
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
    // Don't scroll if the hit is visible.
    let end = open.shown.moved(open.place, by: height - 1, width: width)
    if place < open.place || place > end {
      text?.place = min(
        open.shown.moved(place, by: -height / 3, width: width), open.shown.last(height: height, width: width))
    }
  }

  /// Moves forward or backward by a number of hits, in this text and in the following documents.
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

  /// Moves to the next hit, or returns `false` at the end of the list.
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
      "id           \(header.id)", "collection   \(escapingControls(list.collection.name))",
      "title        \(header.title.map { escapingControls($0) } ?? "(none)")",
      "key          \(header.key.map { escapingControls(Self.name(of: $0)) } ?? "(none)")",
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

  /// Returns the text of a key, or its bytes in Base64 if it isn't text.
  static func name(of key: DocumentKey) -> String {
    key.text ?? "base64:" + Base64.text(key.bytes)
  }

  func date(_ date: Timestamp) -> String {
    program.date(date)
  }

  func edit() throws {
    guard let store, let id = markedID else { return }
    guard !store.isReadOnly else {
      message = StyledText("the store is open for reading only", .warning)
      return
    }
    var opened: BrowserProgram.Edit?
    attempt { opened = try read { try program.edit(id, $0) } }
    guard let edit = opened else { return }
    screen.leave()
    let result = try edit(store)
    try screen.enter()
    canvas.forget()
    lastKeySeconds = Self.seconds
    reload()
    text = nil
    // A store that was locked during the edit shows the reason.
    guard self.store != nil else { return }
    attempt { message = StyledText("document \(id) \(try result.get() ? "stored" : "is unchanged")", .dim) }
  }
}
