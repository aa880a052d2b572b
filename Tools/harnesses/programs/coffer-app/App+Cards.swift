internal import Coffer
internal import Foundation

/// A versioned type, of which each version of the app has its own.
protocol Card: VersionedValue, Equatable {
  init(_ stored: StoredCard)
  /// The members that writing this value sets or removes.
  var members: [String: Any] { get }
}

struct Card1: Card {
  var front: String
  var back: String

  init(_ stored: StoredCard) { (front, back) = (stored.front ?? "", stored.back ?? "") }

  var members: [String: Any] { ["front": front, "back": back, "#schema": 1] }
}

/// Version 2 renamed the members.
struct Card2: Card {
  static let schema = 2
  var question: String
  var answer: String

  init(_ stored: StoredCard) {
    (question, answer) = (stored.question ?? stored.front ?? "", stored.answer ?? stored.back ?? "")
  }

  static func migrate(_ old: OlderValue<Self>) throws -> Self { Self(try old.decode(as: StoredCard.self)) }

  var members: [String: Any] {
    ["question": question, "answer": answer, "front": NSNull(), "back": NSNull(), "#schema": 2]
  }
}

/// Version 3 gained a member, and takes turns with version 2.
struct Card3: Card {
  static let schema = 2
  static var defaults: Card3? { Card3(StoredCard()) }
  var question: String
  var answer: String
  var box = 1

  init(_ stored: StoredCard) {
    let old = Card2(stored)
    (question, answer, box) = (old.question, old.answer, stored.box ?? 1)
  }

  static func migrate(_ old: OlderValue<Self>) throws -> Self { Self(try old.decode(as: StoredCard.self)) }

  var members: [String: Any] {
    ["question": question, "answer": answer, "box": box, "front": NSNull(), "back": NSNull(), "#schema": 2]
  }
}

/// A card of any version, as it is stored.
struct StoredCard: VersionedValue {
  static let schema = 2
  var front, back, question, answer: String?
  var box: Int?
}

extension App {
  static let cards = DocumentCollection("cards")
  static let archive = DocumentCollection("archive")
  static let cardKeys = 300

  private static func isNewer(_ header: DocumentHeader, than type: any VersionedValue.Type) -> Bool {
    (header.attributes["schema"]?.integer ?? 1) > type.schema
  }

  /// Changes one card as a version of the app.
  static func editCard(_ key: String, _ version: Int, _ tx: borrowing WriteTransaction) throws -> [Line] {
    switch version {
    case 1: try edit(Card1.self, key, tx)
    case 2: try edit(Card2.self, key, tx)
    default: try edit(Card3.self, key, tx)
    }
  }

  /// Puts, updates or deletes a card. The app can't replace a newer card, but sometimes deletes it first.
  private static func edit<Value: Card>(_ type: Value.Type, _ key: String, _ tx: borrowing WriteTransaction) throws
    -> [Line]
  {
    let deletion: Line = (name(key, in: cards), nil)
    guard let id = try tx.id(forKey: DocumentKey(key), in: cards) else { return [try put(type, key, tx)] }
    let (isNewer, kind) = (isNewer(try tx.header(of: id), than: type), Int.random(in: 0..<9))
    if kind == 0 {
      try tx.delete(id)
      return [deletion]
    }
    do {
      var line = deletion
      if kind < 5 {
        try tx.update(id, as: type) { card in
          card = some(type)
          line.members = card.members
        }
      } else {
        line = try put(type, key, tx)
      }
      guard !isNewer else { throw Difference("a newer card that \(type) replaced") }
      return [line]
    } catch let error as StoreError where error.code == .notDecodable && isNewer {
      guard kind > 6 else { return [] }
      try tx.delete(id)
      return [deletion, try put(type, key, tx)]
    }
  }

  static func put<Value: Card>(_ type: Value.Type, _ key: String, _ tx: borrowing WriteTransaction) throws -> Line {
    let card = some(type)
    try tx.put(card, into: cards, key: DocumentKey(key))
    return (name(key, in: cards), card.members)
  }

  private static func some<Value: Card>(_ type: Value.Type) -> Value {
    let (front, back) = (text(3), text(8))
    return type.init(
      StoredCard(front: front, back: back, question: front, answer: back, box: Int.random(in: 1...5)))
  }

  // MARK: Migrations

  /// Writes all cards as the newest version.
  static func migrateCards(_ tx: inout WriteTransaction) throws -> [Line] {
    let older = try tx.values(Card3.self, in: cards).filter { !isNewer($0.header, than: Card1.self) }
    guard try tx.migrateValues(Card3.self, in: cards) == older.count else { throw Difference("the migrated cards") }
    return older.map { (name($0.header.key?.text, in: cards), $0.value.members) }
  }

  /// Moves the known cards into a collection with indexes of its own.
  static func archiveCards(_ tx: inout WriteTransaction) throws -> [Line] {
    try tx.setIndexes([.field("box", "$.box", as: .number), .titles], of: archive)
    var lines: [Line] = []
    for card in try tx.values(Card3.self, in: cards) where card.box > 3 {
      try tx.move(card.id, into: archive)
      let key = card.header.key?.text
      lines += [(name(key, in: cards), nil), (name(key, in: archive), card.value.members)]
    }
    return lines
  }

  private static func name(_ key: String?, in collection: DocumentCollection) -> String {
    "\(collection.name)/\(key ?? "")"
  }

  // MARK: Comparisons

  static func compareCards(_ version: Int, _ tx: borrowing ReadTransaction) throws {
    for collection in [cards, archive] where try tx.exists(collection) {
      let stored = try tx.values(StoredCard.self, in: collection)
      switch version {
      case 1: try compare(Card1.self, with: stored, in: collection, tx)
      case 2: try compare(Card2.self, with: stored, in: collection, tx)
      default: try compare(Card3.self, with: stored, in: collection, tx)
      }
      let found = try tx.query("SELECT count(*) FROM \(collection.name) WHERE box > 2").rows[0][0].integer
      guard found == Int64(stored.count { $0.value.box ?? 0 > 2 }) else { throw Difference("the query of boxes") }
    }
  }

  /// Compares the cards as a version of the app reads them. It refuses a list with a newer card.
  private static func compare<Value: Card>(
    _ type: Value.Type, with stored: [StoredValue<StoredCard>], in collection: DocumentCollection,
    _ tx: borrowing ReadTransaction
  ) throws {
    let hasNewer = stored.contains { isNewer($0.header, than: type) }
    do {
      let values = try tx.values(type, in: collection).map(\.value)
      guard !hasNewer, values == stored.map({ type.init($0.value) }) else { throw Difference("the list of \(type)") }
    } catch let error as StoreError where error.code == .notDecodable && hasNewer {}
  }
}
