import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Reads that are long enough to decrypt on a second thread.
struct LongReadTests {
  private static let count = 1000

  /// Returns a length near one of the batch limits, from empty to longer than a batch allows.
  private func length(_ number: Int) -> Int {
    switch number % 97 {
    case 0: 0
    case 13: 60_000
    case 50: 65_000
    case 51: 66_000
    case 77: number == 174 ? 700_000 : 200_000
    default: number * 31 % 2000
    }
  }

  private func text(_ number: Int) -> String {
    let line = "text \(number), слово. "
    let text = String(repeating: line, count: length(number) / line.utf8.count + 1)
    return String(decoding: Array(text.utf8.prefix(length(number)).filter { $0 < 0x80 }), as: UTF8.self)
  }

  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      for number in 1...Self.count {
        try writer.insert(Document(title: "title \(number)", text: text(number)), into: test.notes)
      }
    }
  }

  @Test func readsEveryTextOnceInOrder() throws {
    try withTestStore { test in
      try fill(test)
      var seen = 0
      try test.store.read { reader in
        try reader.forEach(in: test.notes) { document in
          seen += 1
          #expect(document.header.title == "title \(seen)")
          #expect(document.text == text(seen))
        }
      }
      #expect(seen == Self.count)
    }
  }

  @Test func readsEveryHeaderOnceInOrder() throws {
    try withTestStore { test in
      try fill(test)
      let headers = try test.store.read { try $0.headers(in: test.notes) }
      #expect(headers.map(\.title) == (1...Self.count).map { "title \($0)" })
      #expect(headers.map(\.byteCount) == (1...Self.count).map { text($0).utf8.count })
      for limit in [63, 64, 65, 66, 999, 1000, 1001] {
        let page = try test.store.read { try $0.headers(in: test.notes, limit: limit) }
        #expect(page == Array(headers.prefix(limit)))
      }
    }
  }

  @Test(.slow) func supportsNestedReads() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.read { reader in
        var inner = 0
        for outer in [100, 500] {
          var seen = 0
          try reader.forEach(in: test.notes) { document in
            seen += 1
            guard seen == outer else { return }
            #expect(try reader.text(of: DocumentID(7)) == text(7))
            try reader.forEach(in: test.notes) { other in
              inner += 1
              #expect(other.text == text((inner - 1) % Self.count + 1))
            }
            #expect(document.text == text(seen))
          }
        }
        #expect(inner == 2 * Self.count)
      }
    }
  }

  @Test func callerErrorEndsRead() throws {
    struct Enough: Error {}
    try withTestStore { test in
      try fill(test)
      for stop in [1, 64, 65, 66, 300, 1000] {
        var seen = 0
        #expect(throws: Enough.self) {
          try test.store.read { reader in
            try reader.forEach(in: test.notes) { _ in
              seen += 1
              if seen == stop { throw Enough() }
            }
          }
        }
        #expect(seen == stop)
      }
    }
  }

  @Test(.slow, arguments: ["head", "body"], [1, 64, 65, 500, 634, 1000])
  func stopsAtDamagedDocument(_ part: String, _ number: Int) throws {
    let test = try TestStore()
    try fill(test)
    let raw = try test.raw()
    let (table, column) = part == "head" ? ("coffer_record", "head") : ("coffer_record", "body")
    let query = try raw.query("SELECT \(column) FROM \(table) WHERE id=?", number)
    guard case .blob(var bytes)? = query.rows.first?[0] else {
      Issue.record("no blob")
      return
    }
    bytes[bytes.count / 2] ^= 1
    _ = try raw.execute("UPDATE \(table) SET \(column)=? WHERE id=?", bytes, number)
    try raw.close()
    var seen = 0
    do {
      try test.store.read { reader in
        try reader.forEach(in: test.notes) { _ in seen += 1 }
      }
      Issue.record("nothing was thrown")
    } catch let error as StoreError {
      #expect(error.code == .damaged)
      #expect(error.documentID == DocumentID(number))
    }
    #expect(seen == number - 1)
  }

  @Test func sharesNonceHalfWithinTransaction() throws {
    try withTestStore { test in
      for _ in 0..<3 {
        try test.store.write { writer in
          for number in 0..<10 { try writer.insert(Document(text: "text \(number)"), into: test.notes) }
        }
      }
      let rows = try test.raw().query("SELECT head,body_nt FROM coffer_record ORDER BY id").rows
      for column in 0..<2 {
        let nonces = rows.compactMap { row -> [UInt8]? in
          guard case .blob(let bytes) = row[column] else { return nil }
          return Array(bytes[..<24])
        }
        #expect(Set(nonces).count == 30)
        #expect(Set(nonces.map { $0[12...] }).count == 30)
        #expect(Set(nonces.map { $0[..<12] }).count == 3)
        for start in [0, 10, 20] { #expect(Set(nonces[start..<start + 10].map { $0[..<12] }).count == 1) }
      }
    }
  }
}
