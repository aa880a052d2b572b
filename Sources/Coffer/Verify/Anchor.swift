internal import CofferRecords
internal import CofferSQLite

/// The result of comparing a store with an anchor.
public enum AnchorCheck: Sendable, Hashable {
  /// Exactly the state that the anchor names.
  case same
  /// Newer by this many write transactions. The anchor says nothing about later writes, a rekey included.
  case newer(by: UInt64)
}

/// A parsed anchor line: `coffer1:<32 hex>:<decimal>:<32 hex>`.
struct Anchor {
  let line: String
  let storeID: String
  let generation: UInt64

  init(_ line: String) throws(StoreError) {
    let line = line.last?.isNewline == true ? String(line.dropLast()) : line
    let parts = line.split(separator: ":", omittingEmptySubsequences: false)
    func isHex(_ part: Substring) -> Bool {
      part.utf8.count == 32 && part.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
    guard parts.count == 4, parts[0] == "coffer1", isHex(parts[1]), isHex(parts[3]),
      parts[2].utf8.allSatisfy({ (0x30...0x39).contains($0) }), parts[2].first != "0",
      let generation = UInt64(parts[2])
    else {
      throw StoreError(
        .invalidArgument, "this is no anchor line", hint: "it reads coffer1:<store id>:<generation>:<hash>")
    }
    self.line = line
    storeID = String(parts[1])
    self.generation = generation
  }

  func compare(with state: StoreState, of keys: SessionKeys, exact: Bool) throws(StoreError) -> AnchorCheck {
    guard storeID == Hexadecimal.text(keys.storeID) else {
      throw StoreError(.anchorMismatch, "the anchor is of another store")
    }
    guard state.generation >= generation else {
      throw StoreError(
        .rolledBack,
        "the store is older than its anchor: generation \(state.generation), the anchor has \(generation)",
        hint: "an older file stands in its place: put back a newer copy")
    }
    if state.generation > generation {
      guard !exact else {
        throw StoreError(
          .anchorMismatch,
          "the store was written to since: generation \(state.generation), the anchor has \(generation)")
      }
      return .newer(by: state.generation - generation)
    }
    guard try keys.anchor(of: state) == line else {
      throw StoreError(
        .anchorMismatch, "the store is of the anchor's generation, but not in its state",
        hint: "it took other writes, or its key was changed in another copy")
    }
    return .same
  }
}
