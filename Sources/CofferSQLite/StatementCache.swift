internal import CCofferSQLite

/// Compiled statements that are not in use, by their text.
///
/// A statement in use is not in the cache: a second user of the same text gets another one, so that they can't disturb
/// each other. A statement is returned to it reset and without bindings.
struct StatementCache {
  /// Room for one compiled statement. Its user keeps the slot, to return it without a lookup.
  final class Slot {
    let sql: String
    fileprivate(set) var statement: OpaquePointer?
    fileprivate var lastUse = 0
    fileprivate var isEvicted = false

    fileprivate init(_ sql: String) { self.sql = sql }
  }

  private var slots: [String: Slot] = [:]
  private var uses = 0
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  /// True for a text that was cached before, and so holds exactly one statement.
  func knows(_ sql: String) -> Bool { slots[sql] != nil }

  /// The slot for a text, and its statement, which is the caller's from now on; nil if it must be compiled.
  mutating func take(_ sql: String) -> (slot: Slot, statement: OpaquePointer?)? {
    guard let slot = slots[sql] else { return nil }
    uses += 1
    slot.lastUse = uses
    defer { slot.statement = nil }
    return (slot, slot.statement)
  }

  /// A slot for a text that is not here yet; nil if nothing is to be cached.
  mutating func makeSlot(_ sql: String) -> Slot? {
    guard capacity > 0 else { return nil }
    if slots.count >= capacity, let oldest = slots.values.min(by: { $0.lastUse < $1.lastUse }) {
      evict(oldest)
      slots[oldest.sql] = nil
    }
    uses += 1
    let slot = Slot(sql)
    slot.lastUse = uses
    slots[sql] = slot
    return slot
  }

  /// Takes a compiled statement back, or ends it if there is no room for it.
  static func giveBack(_ statement: OpaquePointer, to slot: Slot?) {
    if let slot, !slot.isEvicted, slot.statement == nil {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
      slot.statement = statement
    } else {
      sqlite3_finalize(statement)
    }
  }

  mutating func removeAll() {
    for slot in slots.values { evict(slot) }
    slots = [:]
  }

  private func evict(_ slot: Slot) {
    sqlite3_finalize(slot.statement)
    slot.statement = nil
    slot.isEvicted = true
  }
}
