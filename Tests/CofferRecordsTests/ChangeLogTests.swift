import CofferDocuments
import CofferRecords
import CofferTestSupport
import Testing

/// Tests the net effect of a transaction.
struct ChangeLogTests {
  private typealias Entry = RingChanges.Entry

  private func row(_ id: Int64, in collection: UInt32) -> RowFields {
    RowFields(id: id, collection: collection, epoch: 1, revision: 1, parent: nil, flags: 0)
  }

  /// Returns the ring changes of the transaction `work`.
  private func changes(_ work: (inout ChangeLog) -> Void) -> RingChanges {
    var log = ChangeLog(hasListeners: false)
    work(&log)
    return log.ringChanges
  }

  @Test func emptyTransactionReportsNoChanges() {
    #expect(changes { _ in } == .entries([]))
  }

  @Test func reportsKindOfEachPart() {
    let all = changes { log in
      log.replace(row(1, in: 1), with: row(1, in: 1), as: .text)
      log.replace(row(2, in: 1), with: row(2, in: 1), as: .parent)
      log.replace(row(3, in: 1), with: row(3, in: 1), as: .place)
      log.replace(row(4, in: 1), with: row(4, in: 1), as: [.text, .dates])
      log.replace(row(4, in: 1), with: row(4, in: 1), as: .place)
    }
    #expect(
      all
        == .entries([
          Entry(.textChanged, in: 1, [1...1, 4...4]), Entry(.headChanged, in: 1, [2...2, 4...4]),
          Entry(.moved, in: 1, [3...4]),
        ]))
  }

  @Test func movedNeighborHasStaleText() {
    var log = ChangeLog(hasListeners: true)
    log.replace(row(1, in: 1), with: row(1, in: 1), as: [])
    #expect(log.ringChanges == .entries([]) && log.changes == .entries([]) && log.staleTexts == [1])
  }

  @Test func omitsAttachmentsThatComeAndGo() {
    let all = changes { log in
      log.attach(7, to: row(1, in: 1))
      log.renameAttachment(7, of: row(1, in: 1))
      log.detach(7, from: row(1, in: 1))
      log.attach(8, to: row(2, in: 1))
      log.attach(9, to: row(2, in: 1))
      log.detach(8, from: row(2, in: 1))
      log.detach(3, from: row(3, in: 1))
      log.attach(10, to: row(4, in: 1))
      log.delete(row(4, in: 1))
      log.insert(row(5, in: 1))
      log.attach(11, to: row(5, in: 1))
    }
    #expect(
      all
        == .entries([
          Entry(.inserted, in: 1, [5...5]), Entry(.headChanged, in: 1, [2...3]), Entry(.deleted, in: 1, [4...4]),
        ]))
  }

  @Test func countsAttachmentsAgainstLimit() {
    let all = changes { log in
      for number in 0..<5000 { log.attach(Int64(number), to: row(Int64(number) + 1, in: 1)) }
      for number in 0..<5000 { log.detach(Int64(number), from: row(Int64(number) + 1, in: 1)) }
    }
    #expect(all == .everything)
  }

  @Test func omitsInsertedAndDeletedDocument() {
    let all = changes { log in
      log.insert(row(1, in: 1))
      log.insert(row(2, in: 1))
      log.replace(row(2, in: 1), with: row(2, in: 1), as: .text)
      log.delete(row(2, in: 1))
      log.insert(row(3, in: 1))
      log.replace(row(3, in: 1), with: row(3, in: 1), as: .place)
    }
    #expect(all == .entries([Entry(.inserted, in: 1, [1...1, 3...3])]))
  }

  @Test func reportsChangedAndDeletedDocumentAsDeleted() {
    let all = changes { log in
      log.replace(row(7, in: 2), with: row(7, in: 2), as: .text)
      log.delete(row(7, in: 2))
    }
    #expect(all == .entries([Entry(.deleted, in: 2, [7...7])]))
  }

  @Test func reportsReplacedDocumentAsFullyChanged() {
    let all = changes { log in
      log.delete(row(7, in: 2))
      log.insert(row(7, in: 2))
    }
    let parts = [RingChanges.Kind.textChanged, .headChanged, .moved].map { Entry($0, in: 2, [7...7]) }
    #expect(all == .entries(parts))
  }

  @Test func reportsMoveAsDeletionAndInsertion() {
    let moved = changes { log in
      log.replace(row(7, in: 2), with: row(7, in: 3), as: .place)
      log.delete(row(8, in: 3))
      log.insert(row(8, in: 2))
    }
    #expect(
      moved
        == .entries([
          Entry(.inserted, in: 2, [8...8]), Entry(.inserted, in: 3, [7...7]), Entry(.deleted, in: 2, [7...7]),
          Entry(.deleted, in: 3, [8...8]),
        ]))
    let back = changes { log in
      log.replace(row(7, in: 2), with: row(7, in: 3), as: .place)
      log.replace(row(7, in: 3), with: row(7, in: 2), as: .place)
    }
    #expect(back == .entries([Entry(.moved, in: 2, [7...7])]))
  }

  @Test func listsCollectionsLast() {
    let all = changes { log in
      log.changeCollection(4)
      log.changeCollection(300)
      log.changeCollection(4)
      log.insert(row(1, in: 9))
    }
    #expect(
      all == .entries([Entry(.inserted, in: 9, [1...1]), Entry(.collection, in: 4), Entry(.collection, in: 300)]))
  }

  @Test func restartingIDsChangesWholeRing() {
    var log = ChangeLog(hasListeners: true)
    log.delete(row(3, in: 1))
    log.restartIDs()
    log.insert(row(1, in: 1))
    log.changeCollection(5)
    #expect(log.ringChanges == .everything && log.staleTexts == [3] && log.collections == [5])
    let changes: RingChanges = .entries([
      Entry(.inserted, in: 1, [1...1]), Entry(.deleted, in: 1, [3...3]), Entry(.collection, in: 5),
    ])
    #expect(log.changes == changes)
  }

  @Test func deletingAllDocumentsOmitsEntries() {
    var log = ChangeLog(hasListeners: true)
    log.insert(row(1, in: 1))
    log.deleteEverything()
    log.insert(row(1, in: 1))
    log.delete(row(1, in: 1))
    #expect(log.ringChanges == .everything && log.changes == .everything && log.staleTexts == nil)
  }

  @Test func reportsBulkInsertAsOneRange() {
    let all = changes { log in for id in 1...100_000 as ClosedRange<Int64> { log.insert(row(id, in: 1)) } }
    #expect(all == .entries([Entry(.inserted, in: 1, [1...100_000])]))
    let updated = changes { log in
      for id in 1...10_000 as ClosedRange<Int64> {
        log.replace(row(id, in: 1), with: row(id, in: 1), as: [.text, .head])
        log.replace(row(id, in: 1), with: row(id, in: 1), as: .head)
      }
    }
    #expect(
      updated == .entries([Entry(.textChanged, in: 1, [1...10_000]), Entry(.headChanged, in: 1, [1...10_000])]))
    let deleted = changes { log in for id in 1...10_000 as ClosedRange<Int64> { log.delete(row(id, in: 1)) } }
    #expect(deleted == .entries([Entry(.deleted, in: 1, [1...10_000])]))
  }

  @Test func reportsEverythingBeyondRingCapacity() {
    func scattered(_ count: Int64) -> RingChanges {
      changes { log in for id in 1...count { log.insert(row(2 * id, in: 1)) } }
    }
    #expect(scattered(2936) != .everything)
    #expect(scattered(2937) == .everything)
    #expect(scattered(20_000) == .everything)
    // Falling IDs are merged at the end.
    func falling(_ count: Int64) -> RingChanges {
      changes { log in for id in 0..<count { log.delete(row(count - id, in: 1)) } }
    }
    #expect(falling(4096) == .entries([Entry(.deleted, in: 1, [1...4096])]))
    #expect(falling(4097) == .everything)
    // Subscribers receive more changes than a ring can hold.
    var log = ChangeLog(hasListeners: true)
    for id in 1...Int64(ChangeLog.limit) { log.insert(row(2 * id, in: 1)) }
    #expect(log.ringChanges == .everything && log.changes != .everything)
    log.insert(row(1, in: 1))
    #expect(log.changes == .everything)
  }

  // MARK: A naive model

  /// The documents of a store before and after a transaction.
  private struct Model {
    var before: [Int64: UInt32]
    var now: [Int64: UInt32]
    var kinds: [Int64: ChangeLog.Kind] = [:]
    var replaced: Set<Int64> = []
    var collections: Set<UInt32> = []

    var ringChanges: RingChanges {
      var ids: [UInt64: Set<Int64>] = [:]
      func note(_ id: Int64, _ kind: RingChanges.Kind, _ collection: UInt32) {
        ids[UInt64(kind.rawValue) << 32 | UInt64(collection), default: []].insert(id)
      }
      for id in Set(before.keys).union(now.keys) {
        switch (before[id], now[id]) {
        case (let old?, let new?) where old == new:
          let kinds = replaced.contains(id) ? [.text, .head, .place] : kinds[id] ?? []
          if kinds.contains(.text) { note(id, .textChanged, new) }
          if !kinds.intersection([.head, .dates, .parent]).isEmpty { note(id, .headChanged, new) }
          if kinds.contains(.place) { note(id, .moved, new) }
        case (let old, let new):
          if let old { note(id, .deleted, old) }
          if let new { note(id, .inserted, new) }
        }
      }
      var entries = ids.keys.sorted().map { key in
        Entry(
          RingChanges.Kind(rawValue: UInt8(key >> 32))!, in: UInt32(truncatingIfNeeded: key),
          Self.ranges(ids[key]!.sorted()))
      }
      entries += collections.sorted().map { Entry(.collection, in: $0) }
      return .entries(entries)
    }

    private static func ranges(_ ids: [Int64]) -> [ClosedRange<Int64>] {
      var ranges: [ClosedRange<Int64>] = []
      for id in ids {
        if let last = ranges.last, last.upperBound == id - 1 {
          ranges[ranges.count - 1] = last.lowerBound...id
        } else {
          ranges.append(id...id)
        }
      }
      return ranges
    }
  }

  @Test(arguments: 0..<200)
  func matchesModel(_ seed: UInt64) {
    var random = Pseudorandom(seed: seed)
    var start: [Int64: UInt32] = [:]
    for id in 1...60 as ClosedRange<Int64> where random.number(below: 4) > 0 {
      start[id] = UInt32(1 + random.number(below: 2))
    }
    var model = Model(before: start, now: start)
    var log = ChangeLog(hasListeners: false)
    let parts: [ChangeLog.Kind] = [
      [], .text, .head, .dates, .parent, .place, [.text, .dates], [.text, .head, .place],
    ]
    var kind = parts[0]
    var id: Int64 = 0
    for _ in 0..<random.number(below: 200) {
      // Prefer the next ID and the same kind, to create and split runs.
      id = random.number(below: 4) > 0 ? id % 70 + 1 : Int64(1 + random.number(below: 70))
      if random.number(below: 5) == 0 { kind = parts[random.number(below: parts.count)] }
      let isDeletion = random.number(below: 6) == 0
      switch model.now[id] {
      case nil:
        let collection = UInt32(1 + random.number(below: 2))
        log.insert(row(id, in: collection))
        model.now[id] = collection
        if model.before[id] != nil { model.replaced.insert(id) }
      case let collection? where isDeletion:
        log.delete(row(id, in: collection))
        model.now[id] = nil
      case let collection?:
        let moves = random.number(below: 10) == 0
        let other = moves ? 3 - collection : collection
        let changed = moves ? kind.union(.place) : kind
        log.replace(row(id, in: collection), with: row(id, in: other), as: changed)
        model.now[id] = other
        model.kinds[id, default: []].formUnion(changed)
      }
      if random.number(below: 20) == 0 {
        let collection = UInt32(1 + random.number(below: 300))
        log.changeCollection(collection)
        model.collections.insert(collection)
      }
    }
    #expect(log.ringChanges == model.ringChanges)
  }
}
