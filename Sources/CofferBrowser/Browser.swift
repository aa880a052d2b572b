package import Coffer
internal import CofferPlatform
internal import CofferTerminal

/// The state of the screen, and the loop that draws it and handles keys.
///
/// Reads only visible rows and the marked document's text. If a read fails, shows the error and continues.
package final class Browser {
  enum Pane: Int { case collections, titles, text }

  /// The text of the marked document, or the reason why it can't be shown.
  struct OpenText {
    let id: DocumentID
    /// The header, or `nil` if the document can't be read.
    let header: DocumentHeader?
    let shown: ShownText
    /// The ranges of the search's hits in the title's UTF-8.
    var titleHits: [Range<Int>] = []
    var place = ShownText.Place()
    /// The index of the hit that `n` last moved to.
    var hit: Int?
  }

  /// The place in the store to restore when it's unlocked. Contains IDs and search words, but no texts and titles.
  struct Place {
    let collection: CollectionID
    /// The state of the document list, or `nil` in the list of collections.
    let list: (order: DocumentList.Order, isDescending: Bool, search: DocumentList.Search?)?
    let document: DocumentID?
    let pane: Pane
    let textPlace: ShownText.Place?
    let hit: Int?
  }

  /// A row in the document list.
  struct ListedHeader {
    let header: DocumentHeader
    /// The ranges of the search's hits in the title's UTF-8.
    let hits: [Range<Int>]
  }

  /// A page that covers the screen, such as help or the facts of a document.
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

  /// The name of the store's file, without its folders.
  let shortName: String
  let program: BrowserProgram
  private let lockAfter: Double
  var screen: FullScreen
  var canvas = Canvas()
  var keys = TerminalKeys()

  /// The open store, or `nil` while it's locked.
  var store: DocumentStore?
  /// The place when the store was locked, until it's unlocked.
  var place: Place?
  /// The current wait for another process that holds the store.
  var probe: LockProbe?
  /// A Boolean value that indicates whether reads wait for another process that holds the store.
  ///
  /// Reads wait while a key press is handled, but not while the screen is drawn.
  var isPatient = true
  /// A Boolean value that indicates whether another process held the store during the last read.
  var isBusy = false
  var watch: ChangeWatch?
  var seenCommits = 0
  var lastReload = 0.0
  var reloadSeconds = 0.0

  /// The collections, or `nil` until they're read.
  var listedCollections: [CollectionInfo]?
  var collections: [CollectionInfo] { listedCollections ?? [] }
  var collectionLines = Scroller()
  var list: DocumentList?
  var documentLines = Scroller()
  var pane = Pane.collections
  var text: OpenText?
  /// The headers of rows that were shown. The value is `nil` for unreadable and deleted documents.
  var headers: [DocumentID: ListedHeader?] = [:]
  /// The rows of the last drawing.
  var drawn: [CanvasRow] = []
  var overlay: Overlay?
  var question: Question?
  var prompt: PromptLine?
  var message: StyledText?
  /// A Boolean value that indicates whether the filter doesn't include the most recent letters yet.
  var isFilterPending = false
  /// The words of the last search.
  var lastWords: String?
  /// The number that was typed before a key.
  var count: Int?
  var lastKeySeconds: Double
  var isDone = false
  /// The error that left the program running after it locked the store.
  var failedRestart: (any Error)?

  /// Enters the full screen and shows a store.
  ///
  /// - Parameters:
  ///   - store: The open store. The browser closes it.
  ///   - name: The path of the store.
  ///   - collection: The name of the collection to open.
  ///   - lockAfter: The time in seconds without key presses after which the store is locked, or 0 to never lock it.
  ///   - program: The closures of the program.
  package convenience init(
    _ store: DocumentStore, named name: String, at collection: String?, lockAfter: Double, program: BrowserProgram
  ) throws {
    try self.init(name, lockAfter, program)
    self.store = store
    watch = ChangeWatch(store)
    defer { isPatient = false }
    attempt {
      try loadCollections()
      // Names that are equal as strings can be two compositions.
      let named = collection.flatMap { name in collections.firstIndex { $0.name.utf8.elementsEqual(name.utf8) } }
      if let index = named ?? (collections.count == 1 ? 0 : nil) {
        collectionLines.mark(index, of: collections.count)
        try openCollection()
      }
    }
  }

  /// Enters the full screen for a store that another browser has locked.
  package convenience init(
    _ locked: LockedBrowser, named name: String, lockAfter: Double, program: BrowserProgram
  ) throws {
    try self.init(name, lockAfter, program)
    place = locked.place
    message = StyledText("Locked: \(locked.reason).")
    isPatient = false
  }

  private init(_ name: String, _ lockAfter: Double, _ program: BrowserProgram) throws {
    shortName = name.split(separator: "/").last.map(String.init) ?? name
    self.lockAfter = lockAfter
    self.program = program
    lastKeySeconds = Self.seconds
    screen = try FullScreen()
  }

  /// Shows the store until the user quits, and closes it.
  ///
  /// Locking the store ends the program, and ``BrowserProgram`` starts a new one.
  ///
  /// - Throws: A ``TerminalError``, or an error of the closures that start the program again, reopen and edit.
  package func run() throws {
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
      // Lock before drawing, because the process might have been stopped, or the machine asleep.
      lockIfIdle()
      if !keys.isWaiting {
        if isFilterPending { followPrompt() }
        try draw()
      }
      if let key = try keys.next(within: 250) {
        // If the idle time ended, lock the store and discard the key.
        if lockIfIdle() { continue }
        lastKeySeconds = Self.seconds
        isPatient = true
        if store == nil { try takeWhileLocked(key) } else { try take(key) }
        isPatient = false
      } else if store != nil {
        followChanges()
      }
    }
    if let failedRestart { throw failedRestart }
  }

  var isIdle: Bool { store != nil && lockAfter > 0 && Self.seconds - lastKeySeconds >= lockAfter }

  /// Locks the store if the idle time ended, and returns whether it did.
  @discardableResult
  private func lockIfIdle() -> Bool {
    guard isIdle else { return false }
    lock("no key was pressed for a while")
    return true
  }

  private static let start = ContinuousClock.now

  /// The number of seconds since the first call, including the time that the machine was asleep.
  static var seconds: Double { start.duration(to: .now) / .seconds(1) }

  /// Runs a closure that reads the store, and shows its error.
  ///
  /// - Parameters:
  ///   - stopped: The message to show if the user stops the closure.
  ///   - body: The closure to run.
  func attempt(orShow stopped: String = "stopped", _ body: () throws -> Void) {
    do {
      try body()
    } catch is Stopped {
      message = StyledText(stopped, .dim)
    } catch is Busy {
      isBusy = true
    } catch let error as StoreError where error.code == .keyChanged {
      lock("another process has changed the store's key")
    } catch {
      message = StyledText(line(for: error), .warning)
    }
  }

  func line(for error: any Error) -> String {
    escapingControls(program.message(error))
  }
}

/// The error that stops work when the user asks for it.
struct Stopped: Error {}
