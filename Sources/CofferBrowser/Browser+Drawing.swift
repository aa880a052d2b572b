internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

extension Browser {
  var size: (columns: Int, rows: Int) { Terminal.size(of: STDOUT_FILENO) }

  /// A Boolean value that indicates whether titles and text are shown side by side.
  var isWide: Bool { size.columns >= 72 }

  var listWidth: Int { isWide ? min(max(size.columns * 2 / 5, 28), 64) : size.columns }

  var textWidth: Int { isWide ? size.columns - listWidth - 3 : size.columns }

  /// The number of rows for text in its pane, or `nil` if the pane isn't visible.
  var textHeight: Int? { isWide || pane == .text ? max(1, size.rows - 2 - factRows) : nil }

  /// The number of rows above the text, or 0 on a low screen.
  private var factRows: Int { size.rows < 8 ? 0 : 3 }

  func draw() throws {
    let (columns, rows) = size
    isBusy = false
    if store == nil {
      drawn = drawLock(columns, rows)
    } else if columns < 20 || rows < 5 {
      // Pass all rows, to clear the rows of the larger screen.
      drawn = Array(repeating: CanvasRow(parts: []), count: rows)
      drawn[0].parts = [part(0, columns, [StyledText("too small")])]
    } else {
      var body: [CanvasRow]
      if let open = overlay {
        let place = open.shown.clamped(open.place, width: columns)
        body = open.shown.rows(from: place, count: rows - 2, width: columns).map {
          CanvasRow(parts: [part(0, columns, $0)])
        }
      } else {
        body = drawBody(rows - 2)
      }
      body += Array(repeating: CanvasRow(parts: []), count: max(0, rows - 2 - body.count))
      let foot = foot(columns, atMost: rows / 2)
      drawn = [bar(columns)] + body.dropLast(foot.count - 1) + foot
    }
    // Drawing reads the store, which can detect another key and lock it.
    if isDone { return }
    try canvas.show(drawn, columns: columns)
  }

  /// Returns an empty screen with the state of the lock in its middle.
  private func drawLock(_ columns: Int, _ rows: Int) -> [CanvasRow] {
    let lines = [StyledText("Return opens \(shortName) again, q ends.", .bold), message].compactMap { $0 }
    let shown = lines.flatMap { line in
      TerminalCells(line.text).rows(width: columns).map { TerminalCells.styled($0, in: line.style) }
    }.prefix(rows)
    var drawn = Array(repeating: CanvasRow(parts: []), count: rows)
    for (index, line) in shown.enumerated() {
      drawn[(rows - shown.count) / 2 + index].parts = [part(0, columns, line)]
    }
    return drawn
  }

  /// Replaces the last row. Doesn't read the store, so it can run during a read.
  func drawLastLine(_ line: StyledText) throws {
    let (columns, rows) = size
    if drawn.count != rows { drawn = Array(repeating: CanvasRow(parts: []), count: rows) }
    drawn[rows - 1].parts = [part(0, columns, TerminalCells(line.text).fitting(columns, in: line.style))]
    try canvas.show(drawn, columns: columns)
  }

  func part(_ column: Int, _ width: Int, _ pieces: [StyledText], isMarked: Bool = false) -> CanvasRow.Part {
    CanvasRow.Part(column: column, width: width, pieces: pieces, isMarked: isMarked)
  }

  func bar(_ columns: Int) -> CanvasRow {
    var facts = [shortName]
    if let list {
      facts.append(list.collection.name)
      let shown = grouped(list.ids.count)
      switch list.search {
      case nil: facts.append("\(shown) document\(list.ids.count == 1 ? "" : "s")")
      case let search?:
        facts.append(
          "\(search.isInTitlesOnly ? "titles with" : "found") '\(search.words)': \(shown) of \(grouped(list.collection.count))"
        )
      }
      if list.order != .position || list.isDescending {
        facts.append("sorted by \(list.order.name)\(list.isDescending ? ", descending" : "")")
      }
    } else {
      facts.append("\(collections.count) collection\(collections.count == 1 ? "" : "s")")
    }
    if store?.isReadOnly == true { facts.append("read-only") }
    if store?.isTest == true { facts.append("TEST store") }
    let title = " " + (overlay?.title ?? facts.joined(separator: "  "))
    return CanvasRow(parts: [part(0, columns, TerminalCells(title).fitting(columns, in: .bold))], isBar: true)
  }

  /// Returns the rows for the prompt, a message or the available keys. A long message has several rows.
  private func foot(_ columns: Int, atMost limit: Int) -> [CanvasRow] {
    if let prompt {
      // Show the end of a long line, because the next letter appears there.
      let cells = TerminalCells(prompt.label + prompt.text.suffix(columns))
      var room = columns - 1
      let first = cells.cells.lastIndex { cell in
        room -= cell.width
        return room < 0
      }
      let shown = cells.cells[(first.map { $0 + 1 } ?? 0)...]
      return [CanvasRow(parts: [part(0, columns, TerminalCells.styled(shown) + [StyledText("▏", .dim)])])]
    }
    let line: StyledText
    if case .sort = question {
      line = StyledText("sort by: p position  t title  m modified  c created  s size  k key  i id  (capital: reverse)")
    } else if let message {
      line = message
    } else if isBusy {
      line = StyledText("waiting for another process", .warning)
    } else if overlay != nil {
      line = StyledText("q back", .dim)
    } else {
      let keys =
        switch pane {
        case .collections: "Return open  h help  q end"
        case .titles:
          "Return text  & titles  / search  s sort  = facts  v edit  h help  q \(collections.count > 1 ? "back" : "end")"
        case .text: "Space on  b back  / search  n next hit  = facts  v edit  h help  q titles"
        }
      line = StyledText((count.map { "\($0) " } ?? "") + keys, .dim)
    }
    guard message != nil || question != nil else {
      return [CanvasRow(parts: [part(0, columns, TerminalCells(line.text).fitting(columns, in: line.style))])]
    }
    return TerminalCells(line.text).rows(width: columns).prefix(limit).map {
      CanvasRow(parts: [part(0, columns, TerminalCells.styled($0, in: line.style))])
    }
  }

  func drawBody(_ height: Int) -> [CanvasRow] {
    if pane == .collections { return drawCollections(height) }
    var left: [CanvasRow.Part] = []
    if isWide || pane == .titles { left = drawTitles(height) }
    if isWide || pane == .text {
      openMarked()
      // Reading can lock the store, which removes the list.
      guard store != nil else { return [] }
    }
    guard isWide || pane == .text else { return left.map { CanvasRow(parts: [$0]) } }
    let right = drawText(height)
    let start = isWide ? listWidth + 3 : 0
    return (0..<height).map { index in
      var parts: [CanvasRow.Part] = []
      if isWide {
        if index < left.count { parts.append(left[index]) }
        parts.append(part(listWidth + 1, 2, [StyledText("│", pane == .text ? .bold : .dim)]))
      }
      if index < right.count { parts.append(part(start, textWidth, right[index])) }
      return CanvasRow(parts: parts)
    }
  }

  func drawCollections(_ height: Int) -> [CanvasRow] {
    guard let listedCollections else { return [] }
    guard !listedCollections.isEmpty else {
      return [CanvasRow(parts: [part(0, size.columns, [StyledText("this store has no collection yet", .dim)])])]
    }
    let visible = collectionLines.visible(height: height, of: collections.count)
    return visible.map { index in
      let collection = collections[index]
      return CanvasRow(parts: [
        listPart(
          TerminalCells(collection.name), end: grouped(collection.count), width: size.columns,
          isMarked: index == collectionLines.marked)
      ])
    }
  }

  /// Returns a list row with a name on the left and a fact on the right.
  func listPart(
    _ name: TerminalCells, end: String, width: Int, isMarked: Bool, style: StyledText.Style = .plain
  ) -> CanvasRow.Part {
    let room = width - displayWidth(end) - 3
    guard room >= 8 else {
      return part(0, width, [StyledText(" ")] + name.fitting(width - 2, in: style), isMarked: isMarked)
    }
    let pieces = name.fitting(room, in: style)
    let used = pieces.reduce(0) { $0 + displayWidth($1.text) }
    let gap = String(repeating: " ", count: max(1, room - used + 1))
    return part(
      0, width, [StyledText(" ")] + pieces + [StyledText(gap), StyledText(end, isMarked ? .plain : .dim)],
      isMarked: isMarked)
  }

  func drawTitles(_ height: Int) -> [CanvasRow.Part] {
    guard let list else { return [] }
    guard !list.ids.isEmpty else {
      let words = list.search == nil ? "this collection is empty" : "no title holds these letters"
      return [part(0, listWidth, [StyledText(" " + words, .dim)])]
    }
    let visible = documentLines.visible(height: height, of: list.ids.count)
    readHeaders(list.ids[visible])
    return visible.map { index in
      let id = list.ids[index]
      let isMarked = index == documentLines.marked
      guard let known = headers[id] else {
        return listPart(TerminalCells("…"), end: "", width: listWidth, isMarked: isMarked, style: .dim)
      }
      guard let listed = known else {
        return listPart(
          TerminalCells("(document \(id) can't be read)"), end: "", width: listWidth, isMarked: isMarked,
          style: .warning)
      }
      let header = listed.header
      return listPart(
        TerminalCells(header.title ?? "(document \(id))", hits: listed.hits), end: fact(of: header, in: list.order),
        width: listWidth, isMarked: isMarked,
        style: header.title == nil ? .dim : .plain)
    }
  }

  /// Returns the fact by which the list is sorted, or the size.
  func fact(of header: DocumentHeader, in order: DocumentList.Order) -> String {
    switch order {
    case .position, .title, .size: grouped(header.byteCount)
    case .modified: String(date(header.modified).prefix(16))
    case .created: String(date(header.created).prefix(16))
    case .id: "\(header.id)"
    case .key: header.key.map { TerminalCells(Self.name(of: $0)).fitting(16).map(\.text).joined() } ?? ""
    }
  }

  func drawText(_ height: Int) -> [[StyledText]] {
    guard let open = text, let textHeight else { return [] }
    let width = textWidth
    let place = min(open.shown.clamped(open.place, width: width), open.shown.last(height: textHeight, width: width))
    text?.place = place
    var facts = ["document \(open.id)"]
    if let header = open.header {
      facts.append("\(grouped(header.byteCount)) byte\(header.byteCount == 1 ? "" : "s")")
      if let hit = open.hit, open.shown.hits.count > 1 {
        let count = open.shown.hits.count
        facts.append("hit \(hit + 1) of \(count)\(count >= Self.mostHits ? "+" : "")")
      }
      let percent = open.shown.percent(at: place, height: textHeight, width: width)
      if percent < 100 || place > ShownText.Place() { facts.append("\(percent) %") }
      facts.append(date(header.modified))
      if let key = header.key { facts.append(Self.name(of: key)) }
    }
    let title = open.header.map { $0.title ?? "(no title)" } ?? "(can't be read)"
    let head = [
      TerminalCells(title, hits: open.titleHits).fitting(width, in: .bold),
      TerminalCells(facts.joined(separator: " · ")).fitting(width, in: .dim),
      [StyledText(String(repeating: "─", count: width), .dim)],
    ]
    return head.prefix(factRows) + open.shown.rows(from: place, count: textHeight, width: width)
  }
}
