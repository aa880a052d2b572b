import CofferSQLite
import Foundation
import Testing

/// A ledger on a SQLite file, written only from the documentation comments.
private struct Ledger {
  struct NotEnough: Error {}

  let database: Database

  init(at path: String) throws {
    database = try Database(path, mode: .create)
    try database.execute(
      """
      CREATE TABLE IF NOT EXISTS account(id INTEGER PRIMARY KEY, owner TEXT NOT NULL UNIQUE, cents INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS receipt(account INTEGER REFERENCES account, scan BLOB, rate REAL);
      """)
  }

  func open(_ owner: String, cents: Int) throws -> Int64? {
    try database.execute(
      "INSERT INTO account(owner, cents) VALUES(:owner, :cents)", named: ["owner": owner, "cents": cents]
    )
    .insertedID
  }

  func pay(_ cents: Int, from giver: String, to taker: String) throws {
    try database.transaction {
      try database.execute("UPDATE account SET cents = cents + ? WHERE owner = ?", cents, taker)
      let paid = try database.execute(
        "UPDATE account SET cents = cents - ? WHERE owner = ? AND cents >= ?", cents, giver, cents)
      guard paid.rowsAffected == 1 else { throw NotEnough() }
    }
  }

  func balances() throws -> [String: Int64] {
    let rows = try database.query("SELECT owner, cents FROM account ORDER BY owner").rows
    return Dictionary(
      uniqueKeysWithValues: rows.compactMap { row in
        guard let owner = row["owner"]?.text, let cents = row["cents"]?.integer else { return nil }
        return (owner, cents)
      })
  }
}

@Suite struct ExampleProgramTests {
  @Test func ledgerPaysOrRollsBack() throws {
    let scratch = try Scratch()
    let ledger = try Ledger(at: scratch.file("ledger.db"))
    #expect(try ledger.open("Ada", cents: 500) == 1)
    #expect(try ledger.open("Bob", cents: 0) == 2)
    #expect(throws: SQLiteError.self) { try ledger.open("Ada", cents: 1) }
    try ledger.pay(200, from: "Ada", to: "Bob")
    #expect(throws: Ledger.NotEnough.self) { try ledger.pay(400, from: "Ada", to: "Bob") }
    #expect(try ledger.balances() == ["Ada": 300, "Bob": 200])

    let scan: [UInt8]? = nil
    try ledger.database.execute(
      "INSERT INTO receipt VALUES(?, ?, ?), (?, ?, ?)", 1, scan, 1.5, 2, [0, 1] as [UInt8], 2)
    let receipts = try ledger.database.query("SELECT *, rate * 2 AS twice FROM receipt")
    #expect(receipts.columnNames == ["account", "scan", "rate", "twice"])
    #expect(receipts.declaredTypes == ["INTEGER", "BLOB", "REAL", nil])
    #expect(receipts.rows.map(\.values) == [[1, .null, 1.5, 3.0], [2, .blob([0, 1]), 2.0, 4.0]])

    try ledger.database.backup(to: scratch.file("copy.db"))
    #expect(try Ledger(at: scratch.file("copy.db")).balances() == ledger.balances())
  }
}
