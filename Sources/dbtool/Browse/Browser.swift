internal import Coffer
internal import Glibc

/// `browse`: the state of the screen, and the loop that draws it and takes keys.
///
/// Reads only the rows that are shown, and the text of the marked document. Errors of reading are shown, and end nothing.
final class Browser {
  enum Pane { case collections, titles, text }

  /// The text of the marked document, or why it can't be shown.
  struct OpenText {
    let id: DocumentID
    /// Nil if the document can't be read.
    let header: DocumentHeader?
    let shown: ShownText
    /// The ranges of the search's hits in the title's UTF-8.
    var titleHits: [Range<Int>] = []
    var place = ShownText.Place()
    /// The hit that `n` went to.
    var hit: Int?
  }

  /// The place in the store that an unlock goes back to: ids, and the words of a search; no text and no title.
  struct Place {
    let collection: CollectionID
    /// Nil in the list of collections.
    let list: (order: DocumentList.Order, isDescending: Bool, search: DocumentList.Search?)?
    let document: DocumentID?
    let pane: Pane
    let textPlace: ShownText.Place?
    let hit: Int?
  }

  /// A row of the list.
  struct ListedHeader {
    let header: DocumentHeader
    /// The ranges of the search's hits in the title's UTF-8.
    let hits: [Range<Int>]
  }

  /// A page in front of everything: help, or the facts of a document.
  struct Overlay {
    let title: String
    let shown: ShownText
    var place = ShownText.Place()
  }

  enum Question {
    case filter(before: DocumentList.Search?)
    case search
    case sort
  }

  /// The store's file, without its folders.
  let shortName: String
  let usesUTC: Bool
  let reopen: () throws -> DocumentStore
  private let lockAfter: Double
  var screen: FullScreen
  var canvas = Canvas()
  var keys = TerminalKeys()

  /// Nil while it is locked.
  var store: DocumentStore?
  /// The place at the last lock.
  var place: Place?
  /// The wait for another process that holds the store, until it ends.
  var probe: LockProbe?
  /// Whether reading waits as long as another process holds the store: while a key is worked on. Drawing does not wait.
  var isPatient = true
  /// Whether the last reading found that another process holds the store.
  var isBusy = false
  var watch: ChangeWatch?
  var seenCommits = 0
  var lastReload = 0.0
  var reloadSeconds = 0.0

  /// Nil until they could be read.
  var listedCollections: [CollectionInfo]?
  var collections: [CollectionInfo] { listedCollections ?? [] }
  var collectionLines = Scroller()
  var list: DocumentList?
  var documentLines = Scroller()
  var pane = Pane.collections
  var text: OpenText?
  /// Headers of rows that were shown; nil for one that can't be read, or that was deleted.
  var headers: [DocumentID: ListedHeader?] = [:]
  /// The screen as it was drawn last.
  var drawn: [CanvasRow] = []
  var overlay: Overlay?
  var question: Question?
  var prompt: PromptLine?
  var message: StyledText?
  /// Letters of the filter were typed that it does not yet follow.
  var isFilterPending = false
  /// The words of the last search.
  var lastWords: String?
  /// A number that was typed before a key.
  var count: Int?
  var lastKeySeconds: Double
  var isDone = false

  init(
    _ store: DocumentStore, named name: String, at collection: String?, lockAfter: Double, _ common: CommonOptions,
    reopen: @escaping () throws -> DocumentStore
  ) throws {
    self.store = store
    shortName = name.split(separator: "/").last.map(String.init) ?? name
    self.lockAfter = lockAfter
    self.reopen = reopen
    usesUTC = common.utc
    lastKeySeconds = Self.seconds
    screen = try FullScreen()
    watch = ChangeWatch(store)
    defer { isPatient = false }
    attempt {
      try loadCollections()
      if let index = collections.firstIndex(where: { $0.name == collection }) ?? (collections.count == 1 ? 0 : nil) {
        collectionLines.mark(index, of: collections.count)
        try openCollection()
      }
    }
  }

  /// Shows the store until the user ends it.
  ///
  /// - Throws: `interrupted` when the terminal is gone; the error of opening the store again after a lock.
  func run() throws {
    defer {
      screen.leave()
      try? store?.close()
    }
    while !isDone {
      if FullScreen.takesStopRequest() { try suspend() }
      if FullScreen.takesContinuation() {
        try screen.reenter()
        canvas.forget()
      }
      // Before anything is drawn: this process may have been stopped, or the machine asleep.
      lockIfIdle()
      if !keys.isWaiting {
        if isFilterPending { followPrompt() }
        try draw()
      }
      if let key = try keys.next(within: 250) {
        // A key that ends the idle time opens nothing: the store is locked, and the key is dropped.
        if lockIfIdle() { continue }
        lastKeySeconds = Self.seconds
        isPatient = true
        if store == nil { try takeWhileLocked(key) } else { try take(key) }
        isPatient = false
      } else if store != nil {
        followChanges()
      }
    }
  }

  var isIdle: Bool { store != nil && lockAfter > 0 && Self.seconds - lastKeySeconds >= lockAfter }

  /// - Returns: whether it locked the store now.
  @discardableResult
  private func lockIfIdle() -> Bool {
    guard isIdle else { return false }
    lock("no key was pressed for a while")
    return true
  }

  /// Seconds since the machine was started, those in which it was asleep among them.
  static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Runs something that reads the store; its error is shown.
  ///
  /// - Parameter stopped: the message after the user has stopped it.
  func attempt(orShow stopped: String = "stopped", _ body: () throws -> Void) {
    do {
      try body()
    } catch is Stopped {
      message = StyledText(stopped, .dim)
    } catch is Busy {
      isBusy = true
    } catch {
      let failure = Failure(error)
      if failure.kind == "key-changed" { return lock("another process has changed the store's key") }
      show(failure)
    }
  }

  func show(_ failure: Failure) {
    message = StyledText(Self.line(failure), .warning)
  }

  static func line(_ failure: Failure) -> String {
    escapingControls(failure.message + (failure.hint.map { "; " + $0 } ?? ""))
  }
}

// MARK: - The lock

extension Browser {
  func lock(_ reason: String) {
    guard store != nil else { return }
    rememberPlace()
    (watch, probe) = (nil, nil)
    try? store?.close()
    (store, list, text, overlay, question, prompt) = (nil, nil, nil, nil, nil, nil)
    (isFilterPending, count) = (false, nil)
    headers = [:]
    (listedCollections, pane) = (nil, .collections)
    (collectionLines, documentLines) = (Scroller(), Scroller())
    message = StyledText("Locked: \(reason).")
    canvas.forget()
  }

  func takeWhileLocked(_ key: TerminalKey) throws {
    switch key {
    case .character("q"), .character("Q"), .control("c"): isDone = true
    case .control("z"): try suspend()
    case .control("l"): canvas.forget()
    case .enter:
      let store = try screen.asking(reopen)
      self.store = store
      watch = ChangeWatch(store)
      seenCommits = 0
      message = nil
      lastKeySeconds = Self.seconds
      canvas.forget()
      attempt {
        try loadCollections()
        if let place, try goBack(to: place) { return }
        if collections.count == 1 { try openCollection() }
      }
    default: break
    }
  }

  private func rememberPlace() {
    guard let collection = list?.collection ?? markedCollection else { return }
    place = Place(
      collection: collection.id, list: list.map { ($0.order, $0.isDescending, $0.search) }, document: markedID,
      pane: pane, textPlace: text?.place, hit: text?.hit)
  }

  /// - Returns: whether the collection is there.
  private func goBack(to place: Place) throws -> Bool {
    guard let index = collections.firstIndex(where: { $0.id == place.collection }) else { return false }
    collectionLines.mark(index, of: collections.count)
    guard let former = place.list else { return true }
    try openCollection(by: former.order, descending: former.isDescending, finding: former.search)
    guard let id = place.document, let list, let index = list.ids.firstIndex(of: id) else { return true }
    documentLines.mark(index, of: list.ids.count)
    pane = place.pane
    openMarked()
    if let textPlace = place.textPlace { text?.place = textPlace }
    if let hit = place.hit, text?.shown.hits.indices.contains(hit) == true { text?.hit = hit }
    return true
  }

  /// Ctrl-Z: stops this process until the shell continues it.
  func suspend() throws {
    try screen.suspend()
    canvas.forget()
  }
}

/// The user has stopped a search.
struct Stopped: Error {}
