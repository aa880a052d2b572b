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

  let name: String
  let usesUTC: Bool
  let reopen: () throws -> DocumentStore
  private let lockAfter: Double
  var screen: FullScreen
  var canvas = Canvas()
  var keys = TerminalKeys()

  /// Nil while it is locked.
  var store: DocumentStore?
  var watch: ChangeWatch?
  var seenCommits = 0
  var lastReload = 0.0
  var reloadSeconds = 0.0

  var collections: [CollectionInfo] = []
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
  /// A number that was typed before a key.
  var count: Int?
  var lastKeySeconds: Double
  var isDone = false

  init(
    _ store: DocumentStore, named name: String, at collection: String?, lockAfter: Double, _ common: CommonOptions,
    reopen: @escaping () throws -> DocumentStore
  ) throws {
    self.store = store
    self.name = name
    self.lockAfter = lockAfter
    self.reopen = reopen
    usesUTC = common.utc
    lastKeySeconds = Self.seconds
    screen = try FullScreen()
    watch = ChangeWatch(store)
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
      if !keys.isWaiting { try draw() }
      if let key = try keys.next(within: 250) {
        lastKeySeconds = Self.seconds
        if store == nil { try takeWhileLocked(key) } else { try take(key) }
      } else if store != nil {
        if lockAfter > 0, Self.seconds - lastKeySeconds >= lockAfter { lock("no key was pressed for a while") }
        followChanges()
      }
    }
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
    watch = nil
    try? store?.close()
    (store, list, text, overlay, question, prompt) = (nil, nil, nil, nil, nil, nil)
    headers = [:]
    (collections, pane) = ([], .collections)
    (collectionLines, documentLines) = (Scroller(), Scroller())
    message = StyledText("Locked: \(reason). Return opens \(name) again, q ends.", .bold)
    canvas.forget()
  }

  func takeWhileLocked(_ key: TerminalKey) throws {
    switch key {
    case .character("q"), .character("Q"), .control("c"): isDone = true
    case .control("z"): try suspend()
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
        if collections.count == 1 { try openCollection() }
      }
    default: break
    }
  }

  func suspend() throws {
    try screen.suspend()
    canvas.forget()
  }
}

/// The user has stopped a search.
struct Stopped: Error {}
