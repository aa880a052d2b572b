internal import Coffer
internal import CofferTerminal

extension Browser {
  func take(_ key: TerminalKey) throws {
    message = nil
    switch key {
    case .control("z"): return try suspend()
    case .control("l") where prompt != nil || overlay != nil: return canvas.forget()
    case .character("L") where prompt == nil: return lock("at your request")
    case .character("Q") where prompt == nil:
      isDone = true
      return
    default: break
    }
    if prompt != nil { return takeInPrompt(key) }
    if case .sort = question { return takeOrder(key) }
    if case .character(let digit) = key, let value = digit.wholeNumberValue, digit.isASCII, value > 0 || count != nil {
      count = min((count ?? 0) * 10 + value, 1_000_000_000)
      return
    }
    defer { count = nil }
    if overlay != nil { return takeInOverlay(key) }
    // Open the marked document first, because keys that were typed earlier apply to it.
    if pane == .text || [.character("n"), .character("N")].contains(key) {
      // Don't wait for another process, because the key might quit.
      isPatient = false
      openMarked()
      isPatient = true
      guard store != nil else { return }
    }
    if move(by: key) { return }
    switch key {
    case .character("q"), .left, .escape: goBack(key)
    case .character("h"), .character("H"): overlay = Overlay(title: "keys", shown: ShownText(Self.help))
    case .control("l"), .character("r"), .character("R"):
      canvas.forget()
      text = nil
      reload()
    case .enter, .right, .tab, .backTab: goOn(key)
    case .character("="), .character("i"): if pane != .collections { showFacts() }
    case .character("&"): ask(.filter(before: list?.search), "& ")
    case .character("/"): ask(.search, "/ ")
    case .character("n"): step(1, times: count ?? 1)
    case .character("N"): step(-1, times: count ?? 1)
    case .character("s"): if pane != .collections { question = .sort }
    case .character("v"): if pane != .collections { try edit() }
    default: message = StyledText("h lists the keys", .dim)
    }
  }

  func ask(_ question: Question, _ label: String) {
    guard pane != .collections else {
      message = StyledText("open a collection first: Return", .dim)
      return
    }
    self.question = question
    prompt = PromptLine(label: label)
    // On a narrow screen, show the titles that match the letters.
    if case .filter = question, !isWide { pane = .titles }
  }

  func takeInPrompt(_ key: TerminalKey) {
    guard var line = prompt, let question else { return }
    let isEdited = line.take(key)
    prompt = line
    switch (question, key) {
    case (.filter, _) where isEdited:
      // Filter when all typed keys are handled.
      isFilterPending = true
    case (.filter, .enter):
      attempt { try find(DocumentList.Search(words: line.text, isInTitlesOnly: true)) }
      (self.question, prompt, isFilterPending) = (nil, nil, false)
    case (.filter(let before), .escape), (.filter(let before), .control("c")), (.filter(let before), .backspace):
      (self.question, prompt, isFilterPending) = (nil, nil, false)
      attempt { try find(before) }
    case (.search, .enter):
      (self.question, prompt) = (nil, nil)
      search(for: line.text)
    case (.search, .escape), (.search, .control("c")),
      (.search, .backspace) where !isEdited:
      (self.question, prompt) = (nil, nil)
    default: break
    }
  }

  /// Searches for words. Without words, repeats the last search or moves to its next hit, as less does.
  private func search(for words: String) {
    guard !words.isEmpty || lastWords == nil else {
      if let shown = list?.search, !shown.isInTitlesOnly { return step(1, times: 1) }
      return search(for: lastWords ?? "")
    }
    if !words.isEmpty { lastWords = words }
    attempt {
      try find(DocumentList.Search(words: words, isInTitlesOnly: false))
      if list?.ids.isEmpty == true {
        try find(nil)
        message = StyledText("not found: \(escapingControls(words).fitting(max(8, size.columns - 12)))", .warning)
      }
    }
  }

  /// Filters by the typed letters. Another letter stops the search and restarts it.
  func followPrompt() {
    guard let prompt else { return isFilterPending = false }
    attempt {
      isFilterPending = false
      do {
        try find(DocumentList.Search(words: prompt.text, isInTitlesOnly: true), isTyping: true)
      } catch is Stopped {
        isFilterPending = true
      } catch is Busy {
        isFilterPending = true
        throw Busy()
      }
    }
  }

  func takeOrder(_ key: TerminalKey) {
    question = nil
    guard case .character(let letter) = key, let lower = letter.lowercased().first,
      let order = DocumentList.Order(rawValue: lower)
    else { return }
    attempt { try sort(by: order, descending: letter.isUppercase) }
  }

  func takeInOverlay(_ key: TerminalKey) {
    guard let open = overlay else { return }
    switch key {
    case .character("q"), .escape, .character("h"), .enter, .left, .character("="), .character("i"), .control("c"):
      overlay = nil
    default:
      if let place = moved(open.place, in: open.shown, by: key, height: size.rows - 2, width: size.columns) {
        overlay?.place = place
      }
    }
  }

  func goBack(_ key: TerminalKey) {
    switch pane {
    case .text: pane = .titles
    case .titles where list?.search != nil && key != .character("q"): attempt { try find(nil) }
    case .titles where collections.count > 1:
      (list, text, pane) = (nil, nil, .collections)
    default: if key == .character("q") { isDone = true }
    }
  }

  func goOn(_ key: TerminalKey) {
    switch pane {
    case .collections: attempt { try openCollection() }
    case .titles:
      guard markedID != nil else { return }
      pane = .text
      if let header = text?.header, header.byteCount > Self.previewBytes { text = nil }
    case .text: if key == .tab || key == .backTab { pane = .titles }
    }
  }

  /// Moves the marked row or the text, and returns whether the key is a motion.
  func move(by key: TerminalKey) -> Bool {
    if pane == .text {
      guard let open = text, let height = textHeight,
        let place = moved(open.place, in: open.shown, by: key, height: height, width: textWidth)
      else { return false }
      text?.place = place
      return true
    }
    let total = pane == .collections ? collections.count : list?.ids.count ?? 0
    let marked = pane == .collections ? collectionLines.marked : documentLines.marked
    guard let motion = Motion(key, isText: false) else { return false }
    let page = max(1, size.rows - 3)
    let index =
      switch motion {
      case .lines(let lines): marked + lines * (count ?? 1)
      case .pages(let pages): marked + (count ?? page) * pages
      case .halves(let halves): marked + (count ?? max(1, page / 2)) * halves
      case .beginning: count.map { $0 - 1 } ?? 0
      case .end: count.map { $0 - 1 } ?? total - 1
      case .percent: (total - 1) * min(count ?? 0, 100) / 100
      }
    if pane == .collections {
      collectionLines.mark(index, of: total)
    } else {
      documentLines.mark(index, of: total)
    }
    return true
  }

  func moved(
    _ place: ShownText.Place, in shown: ShownText, by key: TerminalKey, height: Int, width: Int
  ) -> ShownText.Place? {
    guard let motion = Motion(key, isText: true) else { return nil }
    let last = shown.last(height: height, width: width)
    if let number = count {
      switch motion {
      case .beginning, .end: return min(shown.place(ofLine: number), last)
      case .percent: return min(shown.place(ofPercent: number, width: width), last)
      default: break
      }
    }
    switch motion {
    case .lines(let lines): return min(shown.moved(place, by: lines * (count ?? 1), width: width), max(last, place))
    case .pages(let pages):
      return min(shown.moved(place, by: pages * (count ?? height), width: width), max(last, place))
    case .halves(let halves):
      return min(shown.moved(place, by: halves * (count ?? max(1, height / 2)), width: width), max(last, place))
    case .beginning, .percent: return ShownText.Place()
    case .end: return last
    }
  }

  enum Motion {
    case lines(Int), pages(Int), halves(Int), beginning, end, percent

    /// Creates the motion of a key, as in less.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - isText: Whether a text is shown. Return moves down in a text, but opens the marked row in a list.
    init?(_ key: TerminalKey, isText: Bool) {
      switch key {
      case .character("j"), .character("e"), .down, .control("n"), .control("e"): self = .lines(1)
      case .enter where isText: self = .lines(1)
      case .character("k"), .character("y"), .up, .control("p"), .control("y"), .control("k"): self = .lines(-1)
      case .character(" "), .character("f"), .pageDown, .control("f"), .control("v"): self = .pages(1)
      case .character("b"), .pageUp, .control("b"): self = .pages(-1)
      case .character("d"), .control("d"): self = .halves(1)
      case .character("u"), .control("u"): self = .halves(-1)
      case .character("g"), .character("<"), .home: self = .beginning
      case .character("G"), .character(">"), .end: self = .end
      case .character("%"): self = .percent
      default: return nil
      }
    }
  }

  static let help = """
    Move
      j  Down  Ctrl-N        a line down; in a text, also Return
      k  Up  Ctrl-P          a line up
      Space  f  Page Down    a page down
      b  Page Up             a page up
      d  u                   half a page down, up
      g  Home,  G  End       to the beginning, to the end
      A number before a key repeats it; 17 G goes to the 17th document or line, 50 % to the middle.

    Go
      Return  Right          into the collection, into the text
      Tab                    from the titles into the text, and back
      q  Left                back; q ends at the first list
      Q                      ends at once

    Find
      & and letters          only the titles that hold them, with each letter; Return keeps the list, Escape ends it
      / and words, Return    only the documents that hold them, in titles or texts, with hits highlighted;
                             without words, the last ones again
      n  N                   the next hit, the one before, also in the next document
      Escape                 all documents again
      Small letters find capitals, too; letters without accents find accented ones.

    Look
      s and a letter         sort by p position, t title, m modified, c created, s size, k key, i id;
                             a capital letter reverses the order
      =                      attributes, sizes and dates
      v                      edit the text in $VISUAL or $EDITOR
      L                      lock: clear the screen, close the store, wipe its keys
      R  Ctrl-L              read everything again, draw the screen again
      Ctrl-Z                 stop dbtool; fg in the shell continues it
      L, Q, Ctrl-L and Ctrl-Z work on this page and in other places, too.
    """
}
