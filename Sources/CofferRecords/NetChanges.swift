/// A transaction's net effect on each document, and the changed collections.
///
/// Consecutive IDs with the same effect share a run, so a bulk insert of any length needs only one run. Other changes
/// need an entry each. With too many entries, everything counts as changed.
struct NetChanges {
  /// A sufficient number of entries for a ring, which is several times the ranges that fit in it, because adjacent
  /// ranges can still be merged.
  static let ringLimit = 4096

  /// A document before and after the transaction.
  private struct Effect: Equatable {
    /// The previous collection, or 0 if the document didn't exist.
    var before: UInt32
    /// The new collection, or 0 if the document doesn't exist anymore.
    var after: UInt32
    /// The kinds of changes, if the collection is unchanged.
    var kinds: ChangeLog.Kind = []
  }

  private struct Run {
    var ids: ClosedRange<Int64>
    let effect: Effect
  }

  /// The maximum number of entries.
  private let limit: Int
  /// The runs, sorted by ID.
  private var runs: [Run] = []
  /// The effects that override `runs`. Their IDs don't exceed the last run.
  private var others: [Int64: Effect] = [:]
  private(set) var collections: Set<UInt32> = []
  /// The documents of attachments that this transaction added, by the attachments' numbers.
  private var attached: [Int64: (document: Int64, collection: UInt32)] = [:]
  private var isEverything = false
  /// Whether documents and attachments that the transaction both added and deleted count as deleted, because an index
  /// written in between contains them.
  private var keepsPassing = false

  init(limit: Int) {
    self.limit = limit
  }

  mutating func changeEverything() {
    runs = []
    others = [:]
    attached = [:]
    isEverything = true
  }

  mutating func changeCollection(_ collection: UInt32) {
    collections.insert(collection)
  }

  mutating func writeIndex() { keepsPassing = true }

  // MARK: Documents

  mutating func insert(_ id: Int64, into collection: UInt32) {
    var effect = effect(on: id) ?? Effect(before: 0, after: 0)
    effect.after = collection
    // A new document has the ID of a document that this transaction deleted.
    if effect.before != 0 { effect.kinds = [.text, .head, .place] }
    set(effect, on: id)
  }

  mutating func change(_ id: Int64, from before: UInt32, to after: UInt32, _ kinds: ChangeLog.Kind) {
    let known = effect(on: id)
    guard known != nil || !kinds.isEmpty || before != after else { return }
    var effect = known ?? Effect(before: before, after: before)
    effect.after = after
    if effect.before != 0 { effect.kinds.formUnion(kinds) }
    if effect != known { set(effect, on: id) }
  }

  mutating func delete(_ id: Int64, from collection: UInt32) {
    var effect = effect(on: id) ?? Effect(before: collection, after: 0)
    effect.after = 0
    if keepsPassing, effect.before == 0 { effect.before = collection }
    set(effect, on: id)
  }

  // MARK: Attachments

  mutating func attach(_ number: Int64, to id: Int64, in collection: UInt32) {
    // A new document is reported as a whole.
    guard !isEverything, effect(on: id)?.before != 0 else { return }
    attached[number] = (id, collection)
    requireRoom()
  }

  mutating func renameAttachment(_ number: Int64, of id: Int64, in collection: UInt32) {
    if attached[number] == nil { change(id, from: collection, to: collection, .attachments) }
  }

  /// Records a removed attachment. An attachment that this transaction added doesn't have an effect, unless an index
  /// was written since then.
  mutating func detach(_ number: Int64, from id: Int64, in collection: UInt32) {
    guard attached.removeValue(forKey: number) == nil || keepsPassing else { return }
    change(id, from: collection, to: collection, .attachments)
  }

  /// Returns the changes including ``attached``.
  private var withAttachments: NetChanges {
    var changes = self
    changes.attached = [:]
    for (document, collection) in attached.values.sorted(by: { $0.document < $1.document }) {
      var effect = changes.effect(on: document) ?? Effect(before: collection, after: collection)
      effect.kinds.insert(.attachments)
      changes.set(effect, on: document)
    }
    return changes
  }

  /// Returns whether a document was added or moved, or `false` if everything counts as changed.
  func isPlaced(_ id: Int64) -> Bool {
    guard let effect = effect(on: id) else { return false }
    return effect.before != effect.after || effect.kinds.contains(.place)
  }

  /// Returns the current effect.
  private func effect(on id: Int64) -> Effect? {
    guard let last = runs.last, id <= last.ids.upperBound else { return nil }
    if id >= last.ids.lowerBound, others.isEmpty { return last.effect }
    if let other = others[id] { return other }
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].ids.upperBound < id { low = middle + 1 } else { high = middle }
    }
    return runs[low].ids.contains(id) ? runs[low].effect : nil
  }

  private mutating func set(_ effect: Effect, on id: Int64) {
    guard !isEverything else { return }
    if let last = runs.last, id <= last.ids.upperBound {
      others[id] = effect
    } else if let last = runs.last, id - 1 == last.ids.upperBound, effect == last.effect {
      runs[runs.count - 1].ids = last.ids.lowerBound...id
      return
    } else {
      runs.append(Run(ids: id...id, effect: effect))
    }
    requireRoom()
  }

  private mutating func requireRoom() {
    if runs.count + others.count + attached.count > limit { changeEverything() }
  }

  // MARK: The result

  /// - Parameter rangeLimit: The maximum number of ID ranges. With more ranges, everything counts as changed.
  func changes(rangeLimit: Int) -> RingChanges {
    guard attached.isEmpty else { return withAttachments.changes(rangeLimit: rangeLimit) }
    guard !isEverything else { return .everything }
    var sums = RangesByKind()
    let ids = others.keys.sorted()
    var next = 0
    for run in runs {
      var first = run.ids.lowerBound
      while next < ids.count, ids[next] <= run.ids.upperBound {
        let id = ids[next]
        if first < id { sums.add(first...id - 1, run.effect) }
        sums.add(id...id, others[id]!)
        first = max(first, id + 1)
        next += 1
      }
      if first <= run.ids.upperBound { sums.add(first...run.ids.upperBound, run.effect) }
      if sums.count > rangeLimit { return .everything }
    }
    var entries = sums.entries
    for collection in collections { entries.append(RingChanges.Entry(.collection, in: collection)) }
    entries.sort { ($0.kind.rawValue, $0.collection) < ($1.kind.rawValue, $1.collection) }
    return .entries(entries)
  }

  /// Collects the ranges of each kind and collection, added in ID order.
  private struct RangesByKind {
    private(set) var entries: [RingChanges.Entry] = []
    /// The number of ranges in all entries.
    private(set) var count = 0

    mutating func add(_ ids: ClosedRange<Int64>, _ effect: Effect) {
      guard effect.before == effect.after else {
        if effect.before != 0 { add(ids, .deleted, effect.before) }
        if effect.after != 0 { add(ids, .inserted, effect.after) }
        return
      }
      if effect.kinds.contains(.text) { add(ids, .textChanged, effect.before) }
      if !effect.kinds.isDisjoint(with: [.head, .dates, .parent, .attachments]) {
        add(ids, .headChanged, effect.before)
      }
      if effect.kinds.contains(.place) { add(ids, .moved, effect.before) }
    }

    private mutating func add(_ ids: ClosedRange<Int64>, _ kind: RingChanges.Kind, _ collection: UInt32) {
      guard let index = entries.firstIndex(where: { $0.kind == kind && $0.collection == collection }) else {
        entries.append(RingChanges.Entry(kind, in: collection, [ids]))
        count += 1
        return
      }
      let last = entries[index].ranges.count - 1
      if entries[index].ranges[last].upperBound + 1 == ids.lowerBound {
        entries[index].ranges[last] = entries[index].ranges[last].lowerBound...ids.upperBound
      } else {
        entries[index].ranges.append(ids)
        count += 1
      }
    }
  }
}
