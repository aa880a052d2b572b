internal import CofferRecords
internal import CofferSealing
internal import Synchronization

/// A document as a read transaction proved and opened it; its text is wiped with its last owner.
final class CachedDocument: Sendable {
  // As callers get it; its bytes are those of `text`, which never change.
  nonisolated(unsafe) let opened: OpenedDocument
  private let text: OpenedBytes

  init(header: DocumentHeader, text: UnsafeRawBufferPointer) {
    self.text = OpenedBytes(copying: text)
    opened = OpenedDocument(header: header, utf8: self.text.bytes)
  }

  var id: DocumentID { opened.header.id }
  var byteCount: Int { opened.utf8.count }
}

/// Texts that were opened lately, for every thread of one open store; bounded in bytes.
///
/// What it holds is true for one set of rows: generation and set hash of a proved state. A transaction asks once, when
/// it has proved its own, whether that is the one; from then on a hit looks at no row. A commit of this process takes
/// out what it changed, and the rest stays true; a state that another process wrote empties it. Only reading
/// transactions use it: a writer sees the file.
final class TextCache: Sendable {
  /// Which rows are meant.
  struct Version: Equatable {
    let generation: UInt64
    let set: SetHash

    init(_ state: StoreState) {
      generation = state.generation
      set = state.set
    }
  }

  /// Lets one reading transaction use the cache; one with the number 0 fits no cache.
  struct Pass: Equatable {
    fileprivate var number: UInt64
  }

  /// The answer to a look-up.
  enum Answer {
    case document(CachedDocument)
    /// Not held; a text of so many bytes is worth keeping, no larger one.
    case missing(room: Int)
  }

  /// What an entry takes beside its text.
  fileprivate static let overhead = 256

  /// Over so many look-ups it is counted how many were worth it.
  fileprivate static let window = 1024
  /// Below this share of hits, one in so many texts is kept once the cache is full: keeping and wiping each would cost a
  /// sixth of a read that nobody repeats.
  fileprivate static let sparseness = 16

  fileprivate struct Slot {
    var document: CachedDocument?
    /// Read since the hand last passed it.
    var isUsed = false
  }

  fileprivate struct State {
    var slots: [Slot] = []
    var free: [Int] = []
    var places: [DocumentID: Int] = [:]
    var byteCount = 0
    var hand = 0
    var version: Version?
    var pass = Pass(number: 1)
    var isCommitting = false
    var isClosed = false
    var lookups = 0
    var hits = 0
    var isSparse = false
  }

  private let capacity: Int
  private let state = Mutex(State())

  /// - Parameter capacity: bytes, of which an entry takes those of its text and 256 more.
  init(capacity: Int) {
    self.capacity = capacity
  }

  // MARK: Reading

  /// The first look-up of a reading transaction, with the pass for its later ones.
  ///
  /// - Parameter transaction: the state that it has proved.
  func firstDocument(_ id: DocumentID, of transaction: StoreState) -> (Answer, Pass) {
    let (answer, pass, dropped) = state.withLock { state in
      var dropped: State?
      let pass = state.admit(Version(transaction), &dropped)
      return (state.pass == pass ? state.answer(id, within: capacity) : .missing(room: 0), pass, dropped)
    }
    // Wiped here, outside of the lock.
    _ = dropped
    return (answer, pass)
  }

  func document(_ id: DocumentID, _ pass: Pass) -> Answer {
    state.withLock { $0.pass == pass ? $0.answer(id, within: capacity) : .missing(room: 0) }
  }

  func keep(_ document: CachedDocument, _ pass: Pass) {
    state.withLock { state in
      guard state.pass == pass, state.places[document.id] == nil else { return }
      state.makeRoom(document.byteCount + Self.overhead, within: capacity)
      state.insert(document, cost: document.byteCount + Self.overhead)
    }
  }

  // MARK: Writing

  /// Until the commit that follows has ended, readers of its rows go without.
  func willCommit() {
    state.withLock { $0.isCommitting = true }
  }

  /// - Parameter changed: what is no longer as it was; nil when that is not known.
  func didCommit(_ before: Version, _ after: Version, changed: [DocumentID]?) {
    let dropped = state.withLock { state -> State? in
      state.isCommitting = false
      defer {
        state.version = after
        state.pass.number += 1
      }
      guard let changed, state.version == before else { return state.empty() }
      for id in changed { state.remove(id) }
      return nil
    }
    _ = dropped
  }

  func commitFailed() {
    state.withLock { $0.isCommitting = false }
  }

  /// Wipes everything, and keeps nothing from here on.
  func close() {
    let dropped = state.withLock { state in
      defer { state.isClosed = true }
      return state.empty()
    }
    _ = dropped
  }

  /// Whether it is held now; no look-up.
  func holds(_ id: DocumentID) -> Bool { state.withLock { $0.places[id] != nil } }

  /// Bytes held, overhead included.
  var byteCount: Int { state.withLock { $0.byteCount } }
}

extension TextCache.State {
  /// What it held, to be wiped outside of the lock.
  fileprivate mutating func empty() -> Self {
    let old = self
    self = Self()
    version = old.version
    isCommitting = old.isCommitting
    isSparse = old.isSparse
    isClosed = old.isClosed
    pass.number = old.pass.number + 1
    return old
  }

  /// A pass for a transaction of that version; empties the cache where another process has committed since.
  fileprivate mutating func admit(_ wanted: TextCache.Version, _ dropped: inout Self?) -> TextCache.Pass {
    if isClosed { return TextCache.Pass(number: 0) }
    if version == wanted { return pass }
    // While this process commits, the new rows are in the file before it has said which they are. A reader of an older
    // state goes without.
    if isCommitting { return TextCache.Pass(number: 0) }
    if let version, wanted.generation < version.generation { return TextCache.Pass(number: 0) }
    dropped = empty()
    version = wanted
    return pass
  }

  fileprivate mutating func answer(_ id: DocumentID, within capacity: Int) -> TextCache.Answer {
    lookups += 1
    if lookups == TextCache.window {
      isSparse = hits < lookups / TextCache.sparseness
      lookups = 0
      hits = 0
    }
    if let place = places[id], let document = slots[place].document {
      hits += 1
      slots[place].isUsed = true
      return .document(document)
    }
    // A text that would push most others out is not worth it.
    let largest = capacity / 8
    let isKept = !isSparse || lookups % TextCache.sparseness == 0
    return .missing(room: isKept ? largest : min(largest, capacity - byteCount - TextCache.overhead))
  }

  fileprivate mutating func insert(_ document: CachedDocument, cost: Int) {
    let place: Int
    if let free = free.popLast() {
      place = free
      slots[place] = TextCache.Slot(document: document)
    } else {
      place = slots.count
      slots.append(TextCache.Slot(document: document))
    }
    places[document.id] = place
    byteCount += cost
  }

  fileprivate mutating func remove(_ id: DocumentID) {
    guard let place = places[id] else { return }
    remove(at: place)
  }

  fileprivate mutating func remove(at place: Int) {
    guard let document = slots[place].document else { return }
    places[document.id] = nil
    byteCount -= document.byteCount + TextCache.overhead
    slots[place] = TextCache.Slot()
    free.append(place)
  }

  /// Takes out what was not read since the hand last passed.
  fileprivate mutating func makeRoom(_ cost: Int, within capacity: Int) {
    while byteCount + cost > capacity, !places.isEmpty {
      if hand >= slots.count { hand = 0 }
      if slots[hand].isUsed {
        slots[hand].isUsed = false
      } else {
        remove(at: hand)
      }
      hand += 1
    }
  }
}
