internal import CofferRecords
internal import CofferSealing
internal import Synchronization

/// A document as a read transaction verified and opened it; its last owner wipes its text.
final class CachedDocument: Sendable {
  // In the form for callers; its bytes are those of `text`, which never change.
  nonisolated(unsafe) let opened: OpenedDocument
  private let text: OpenedBytes

  init(header: DocumentHeader, text: UnsafeRawBufferPointer) {
    self.text = OpenedBytes(copying: text)
    opened = OpenedDocument(header: header, utf8: self.text.bytes)
  }

  var id: DocumentID { opened.header.id }
  var byteCount: Int { opened.utf8.count }
}

/// Recently opened texts, for every thread of one open store; limited in bytes.
///
/// Its entries are valid for one version of the rows: generation and set hash of a verified state. A transaction
/// compares versions once, after it has verified its own state; from then on a hit looks at no row. A commit of this
/// process removes the documents that it changed, and the rest stays valid; a state written by another process empties
/// the cache. Only read transactions use it: a writer reads the file.
final class TextCache: Sendable {
  /// Cached database version.
  struct Version: Equatable {
    let generation: UInt64
    let set: SetHash

    init(_ state: StoreState) {
      generation = state.generation
      set = state.set
    }
  }

  /// Lets one read transaction use the cache; a pass with the number 0 fits no cache.
  struct Pass: Equatable {
    fileprivate var number: UInt64
  }

  /// The answer to a lookup.
  enum Answer {
    case document(CachedDocument)
    /// Not cached; a text of up to `room` bytes is worth keeping.
    case missing(room: Int)
  }

  /// Bytes counted for an entry in addition to its text.
  fileprivate static let overhead = 256

  /// The number of lookups over which hits are counted.
  fileprivate static let window = 1024
  /// Below this share of hits, a full cache keeps only one in this many texts: keeping and wiping each would cost a
  /// sixth of a read that no caller repeats.
  fileprivate static let sparseness = 16

  fileprivate struct Slot {
    var document: CachedDocument?
    /// Read since the eviction hand last passed it.
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

  /// - Parameter capacity: in bytes; an entry takes those of its text and 256 more.
  init(capacity: Int) {
    self.capacity = capacity
  }

  // MARK: Reading

  /// The first lookup of a reading transaction, with the pass for its later ones.
  /// - Parameter transaction: the state that the transaction has proved.
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

  @inline(__always)
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

  /// Call before a commit: until the commit ends, readers of its rows don't use the cache.
  func willCommit() {
    state.withLock { $0.isCommitting = true }
  }

  /// - Parameter changed: the changed documents; nil if unknown.
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

  /// Wipes everything.
  func empty() {
    let dropped = state.withLock { $0.empty() }
    _ = dropped
  }

  /// Wipes everything, and caches nothing from now on.
  func close() {
    let dropped = state.withLock { state in
      defer { state.isClosed = true }
      return state.empty()
    }
    _ = dropped
  }

  /// Whether the document is cached now; not counted as a lookup.
  func holds(_ id: DocumentID) -> Bool { state.withLock { $0.places[id] != nil } }

  /// Bytes cached, overhead included.
  var byteCount: Int { state.withLock { $0.byteCount } }
}

extension TextCache.State {
  /// Empties the cache and returns its former content, for the caller to wipe outside of the lock.
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

  /// A pass for a transaction of that version; empties the cache if another process has committed since.
  fileprivate mutating func admit(_ wanted: TextCache.Version, _ dropped: inout Self?) -> TextCache.Pass {
    if isClosed { return TextCache.Pass(number: 0) }
    if version == wanted { return pass }
    // During a commit of this process, the new rows may be in the file before the cache knows their version. A reader
    // of an older state gets no pass.
    if isCommitting { return TextCache.Pass(number: 0) }
    if let version, wanted.generation < version.generation { return TextCache.Pass(number: 0) }
    dropped = empty()
    version = wanted
    return pass
  }

  @inline(__always)
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
    // A text that would evict most others is not worth keeping.
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

  /// Evicts texts that were not read since the hand last passed.
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
