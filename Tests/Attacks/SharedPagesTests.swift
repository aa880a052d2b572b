import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Trees whose pages lead to the same page a hundred times each, so that walking over their rows would take forever.
/// Anyone can make such a file from a published store without a key.
struct SharedPagesTests: OpeningSuite {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("some.coffer")
  }

  /// Makes a store in which the rows of a table or an index are below twelve levels of such pages.
  private func makeStore(sharing tree: String) throws {
    let test = try TestStore()
    try test.store.write { tx in
      for number in 1...3 {
        let id = try tx.insert(Document(text: String(repeating: "\(number) ", count: 3000)), into: test.notes)
        if number == 1, tree.hasPrefix("coffer_attachment") { try tx.attach([1, 2], to: id, name: "\(number)") }
      }
    }
    try test.store.close()
    let database = try test.raw()
    let root = try database.query("SELECT rootpage FROM sqlite_schema WHERE name = ?", tree).rows[0][0].integer
    let pageSize = try database.query("PRAGMA page_size").rows[0][0].integer
    try database.close()
    try FileManager.default.moveItem(at: test.url, to: url)
    let size = Int(try #require(pageSize))
    let top = (Int(try #require(root)) - 1) * size
    var bytes = [UInt8](try Data(contentsOf: url))
    // Pages with the number of a child are of kind 2 in an index and of kind 5 in a table. A cell is the number of a
    // child, and an entry of the index, which begins with its size, or a row ID.
    let isIndex = bytes[top] == 10
    let entry = top + Int(bytes[top + 8]) << 8 + Int(bytes[top + 9])
    let key = isIndex ? Array(bytes[entry...entry + Int(bytes[entry])]) : [1]
    let rows = Array(bytes[top..<top + size])
    bytes += rows
    for level in 1...12 {
      let child = Self.number(bytes.count / size, byteCount: 4)
      let place = Self.number(300, byteCount: 2)
      var page: [UInt8] = [isIndex ? 2 : 5, 0, 0, 0, 100]
      page += place
      page.append(0)
      page += child
      for _ in 0..<100 { page += place }
      page += [UInt8](repeating: 0, count: 300 - page.count)
      page += child
      page += key
      page += [UInt8](repeating: 0, count: size - page.count)
      if level < 12 { bytes += page } else { bytes.replaceSubrange(top..<top + size, with: page) }
    }
    bytes.replaceSubrange(28..<32, with: Self.number(bytes.count / size, byteCount: 4))
    try Data(bytes).write(to: url)
  }

  private static func number(_ value: Int, byteCount: Int) -> [UInt8] {
    (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private func open() throws -> DocumentStore {
    try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
  }

  @Test(
    arguments: [
      ("coffer_header", .damaged), ("coffer_state", .damaged), ("coffer_slot", .parametersRefused),
    ] as [(String, StoreError.Code)])
  func refusesToOpen(_ tree: String, _ code: StoreError.Code) throws {
    try makeStore(sharing: tree)
    try expectRefused(code)
    expect(code) { _ = try DocumentStore.info(at: url) }
    #expect(try !DocumentStore.check(at: url).problems.isEmpty)
  }

  @Test(arguments: ["coffer_collection", "coffer_record", "coffer_record_pos", "coffer_body"])
  func checksEndWithoutKey(_ tree: String) throws {
    try makeStore(sharing: tree)
    let problems = try DocumentStore.check(at: url).problems
    #expect(problems.contains { $0.contains("the same rows again and again") }, "\(problems)")
    #expect(try DocumentStore.newestRevision(at: url) > 0)
  }

  @Test(arguments: ["coffer_collection", "coffer_record_pos"]) func infoEndsWithoutKey(_ tree: String) throws {
    try makeStore(sharing: tree)
    expect(.damaged) { _ = try DocumentStore.info(at: url) }
  }

  @Test func refusesToListCollections() throws {
    try makeStore(sharing: "coffer_collection")
    expect(.damaged) { _ = try open().read { try $0.collections() } }
  }

  @Test func refusesToListDocumentsWithAttachments() throws {
    try makeStore(sharing: "coffer_attachment_id")
    let store = try open()
    expect(.damaged) { _ = try store.read { try $0.headers(in: "notes") } }
    expect(.damaged) { _ = try store.write { try $0.setIndexes([.words()], of: "notes") } }
  }

  @Test func countsDocumentsUpToStateCount() throws {
    try makeStore(sharing: "coffer_record_pos")
    expect(.setMismatch) { _ = try open().anchor() }
  }
}
