internal import CCofferSQLite

/// Compiled statements that aren't in use, by their SQL text.
///
/// A statement in use isn't in the cache, so a second user of the same text gets a separate statement. Statements are
/// reset and their bindings are cleared before they return to the cache.
struct StatementCache {
  /// A slot for one compiled statement. The statement's user keeps the slot, to return the statement without a lookup.
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

  /// Returns whether the text was cached before, so it contains exactly one statement.
  func knows(_ sql: String) -> Bool { slots[sql] != nil }

  /// Returns the slot for a text and its statement, which the caller then owns, or `nil` if the text must be compiled.
  mutating func take(_ sql: String) -> (slot: Slot, statement: OpaquePointer?)? {
    guard let slot = slots[sql] else { return nil }
    uses += 1
    slot.lastUse = uses
    defer { slot.statement = nil }
    return (slot, slot.statement)
  }

  /// Returns a new slot for a text, or `nil` if the cache's capacity is 0.
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

  /// Returns a compiled statement to its slot, or finalizes it if the slot isn't free.
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
