internal import CofferRecords
internal import CofferSealing
internal import Synchronization

/// A document verified and opened by a read transaction. Its text is wiped when its last owner releases it.
final class CachedDocument: Sendable {
  // The document in the form for callers. It's safe to share, because its bytes belong to `text` and never change.
  nonisolated(unsafe) let opened: OpenedDocument
  private let text: OpenedBytes

  init(header: DocumentHeader, text: UnsafeRawBufferPointer) {
    self.text = OpenedBytes(copying: text)
    opened = OpenedDocument(header: header, utf8: self.text.bytes)
  }

  var id: DocumentID { opened.header.id }
  var byteCount: Int { opened.utf8.count }
}

/// A cache of recently opened texts, shared by all threads of an open store and limited in bytes.
///
/// The entries are valid for one version of the rows, identified by the generation and set hash of a verified state. A
/// transaction compares versions once, after verifying its own state, so later hits don't read rows. A local commit
/// removes only the changed documents, but a state written by another process empties the cache. Only read transactions
/// use the cache, because writers read the file.
final class TextCache: Sendable {
  /// A version of the store's rows.
  struct Version: Equatable {
    let generation: UInt64
    let set: SetHash

    init(_ state: StoreState) {
      generation = state.generation
      set = state.set
    }
  }

  /// A read transaction's permission to use the cache. The number 0 never permits it.
  struct Pass: Equatable {
    fileprivate var number: UInt64
  }

  /// The result of a lookup.
  enum Answer {
    case document(CachedDocument)
    /// The document isn't cached. A text of up to `room` bytes is worth caching.
    case missing(room: Int)
  }

  /// The bytes counted per entry in addition to its text.
  fileprivate static let overhead = 256

  /// The number of lookups over which hits are counted.
  fileprivate static let window = 1024
  /// With fewer hits than one in this many lookups, a full cache keeps only one in this many texts, because keeping and
  /// wiping each text would cost a sixth of an unrepeated read.
  fileprivate static let sparseness = 16

  fileprivate struct Slot {
    var document: CachedDocument?
    /// Whether the text was read since the eviction hand last passed.
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

  /// Creates a cache with a capacity in bytes. Each entry uses 256 bytes in addition to its text.
  init(capacity: Int) {
    self.capacity = capacity
  }

  // MARK: Reading

  /// Looks up a read transaction's first document, and returns the pass for later lookups.
  /// - Parameter transaction: The transaction's verified state.
  func firstDocument(_ id: DocumentID, of transaction: StoreState) -> (Answer, Pass) {
    let (answer, pass, dropped) = state.withLock { state in
      var dropped: State?
      let pass = state.admit(Version(transaction), &dropped)
      return (state.pass == pass ? state.answer(id, within: capacity) : .missing(room: 0), pass, dropped)
    }
    // Wipe the dropped texts outside the lock.
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

  /// Prepares for a commit. Until the commit ends, readers of its rows don't use the cache.
  func willCommit() {
    state.withLock { $0.isCommitting = true }
  }

  /// Removes a commit's changed documents, or all documents if `changed` is `nil`.
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

  /// Wipes all texts.
  func empty() {
    let dropped = state.withLock { $0.empty() }
    _ = dropped
  }

  /// Wipes all texts and stops caching.
  func close() {
    let dropped = state.withLock { state in
      defer { state.isClosed = true }
      return state.empty()
    }
    _ = dropped
  }

  /// Returns whether the document is cached, without counting a lookup.
  func holds(_ id: DocumentID) -> Bool { state.withLock { $0.places[id] != nil } }

  /// The number of cached bytes, including overhead.
  var byteCount: Int { state.withLock { $0.byteCount } }
}

extension TextCache.State {
  /// Empties the cache and returns its former contents for the caller to wipe outside the lock.
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

  /// Returns a pass for a transaction of that version. Empties the cache if another process has committed since.
  fileprivate mutating func admit(_ wanted: TextCache.Version, _ dropped: inout Self?) -> TextCache.Pass {
    if isClosed { return TextCache.Pass(number: 0) }
    if version == wanted { return pass }
    // During a local commit, the file may contain the new rows before the cache has their version. Readers of older
    // states don't get a pass.
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
    // A text that would evict most others isn't worth caching.
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

  /// Evicts texts that weren't read since the hand last passed.
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
