internal import Coffer
internal import Foundation

/// A bank whose accounts are documents: under concurrent work their sum is constant, and no counted transfer is lost.
struct Bank: Sendable {
  static let accounts: ClosedRange<Int64> = 1...24
  static let openingBalance = 1000
  static var total: Int { accounts.count * openingBalance }
  static let ledger = DocumentCollection("accounts")
  /// One document for each writing thread, with the thread's name as key: the number of transfers that it has made.
  static let counters = DocumentCollection("counters")

  let store: DocumentStore

  /// The accounts and counts of one read transaction.
  struct Snapshot {
    var sum = 0
    var accounts = 0
    var counts: [String: Int] = [:]
    var generation: UInt64 = 0
  }

  init(_ path: String, keys: [URL]) throws {
    var options = OpenOptions()
    options.allowsTestKeys = true
    options.wait = .seconds(30)
    // Every read goes to the file.
    options.textCacheBytes = 0
    store = try DocumentStore.open(
      at: URL(filePath: path), key: .anyOf(keys.map { StoreKey.keyFile($0) }), options: options)
  }

  static func found(at path: String, key: URL, journal: CreateOptions.Journal) throws {
    var creation = CreateOptions()
    creation.isTest = true
    creation.journal = journal
    var options = OpenOptions()
    options.allowsTestKeys = true
    let store = try DocumentStore.create(
      at: URL(filePath: path), keys: [.keyFile(key)], creation: creation, options: options)
    try store.write { writer in
      for id in accounts {
        try writer.insert(document(openingBalance, of: id), into: ledger, id: DocumentID(id))
      }
      try writer.create(DocumentCollection("counters"))
    }
    try store.close()
  }

  /// A balance in text and title. The text is long: some forty transfers fill a write-ahead log up to a checkpoint.
  private static func document(_ balance: Int, of id: Int64) -> Document {
    Document(title: "\(balance)", text: text(balance, of: id))
  }

  private static func text(_ balance: Int, of id: Int64) -> String {
    "\(balance) " + String(repeating: "#", count: Int(id) * 3000)
  }

  private static func balance(_ text: Substring) throws -> Int {
    guard let balance = Int(text.prefix { $0 != " " }) else { throw Finding("an account without a balance") }
    return balance
  }

  /// Moves an amount between two documents, and counts the transfer in a third one, in one transaction.
  func transfer(_ amount: Int, from: Int64, to: Int64, by name: String) throws {
    try store.write { writer in
      for (id, change) in [(from, -amount), (to, amount)] {
        let old = try writer.document(DocumentID(id))
        let balance = try Self.balance(old.text[...])
        guard old.title == "\(balance)" else { throw Finding("account \(id): title and text of different commits") }
        try writer.update(DocumentID(id)) {
          $0.title = "\(balance + change)"
          $0.text = Self.text(balance + change, of: id)
        }
      }
      var count = 0
      if let id = try writer.id(forKey: DocumentKey(name), in: Self.counters) {
        count = Int(try writer.text(of: id)) ?? 0
      }
      try writer.put(Document(text: "\(count + 1)"), into: Self.counters, key: DocumentKey(name))
    }
  }

  /// Writes much in one transaction, and waits before it commits and again before the store is closed.
  func hold(_ wait: () -> Void) throws {
    try store.write { writer in
      for number in 0..<200 {
        try writer.insert(Document(text: "held \(number) " + String(repeating: "#", count: 4000)), into: "held")
      }
      wait()
    }
    wait()
  }

  func snapshot() throws -> Snapshot {
    try store.read { reader in
      var snapshot = Snapshot()
      snapshot.generation = reader.generation
      try reader.forEach(in: Self.ledger) { opened in
        let balance = try Self.balance(opened.text[...])
        guard opened.header.title == "\(balance)" else { throw Finding("title and text of different commits") }
        snapshot.sum += balance
        snapshot.accounts += 1
      }
      try reader.forEach(in: Self.counters) { opened in
        snapshot.counts[opened.header.key?.text ?? ""] = Int(opened.text)
      }
      return snapshot
    }
  }
}

/// A result that must not occur, under any concurrent work.
struct Finding: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension Bank.Snapshot {
  /// - Parameter last: the snapshot that the same reader took before.
  func check(after last: Bank.Snapshot) throws {
    guard sum == Bank.total, accounts == Bank.accounts.count else {
      throw Finding("\(accounts) accounts hold \(sum), not \(Bank.total)")
    }
    guard generation >= last.generation else { throw Finding("generation \(generation) after \(last.generation)") }
    for (name, count) in last.counts where counts[name, default: 0] < count {
      throw Finding("\(name) is at \(counts[name, default: 0]) transfers after \(count): commits were lost")
    }
  }
}
