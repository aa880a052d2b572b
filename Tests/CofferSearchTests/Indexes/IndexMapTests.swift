import Coffer
import CofferDocuments
import CofferEngine
import CofferRecords
import CofferTestSupport
import Testing

@testable import CofferSearch
@testable import CofferStoreTestSupport

/// The pages of an index beside a dictionary of their contents, in small pages so that there are many map pages.
@Suite struct IndexMapTests {
  private static let pageSize = 1024
  private static let contentByteCount = pageSize - IndexPages.reservedBytes

  private let test: TestStore
  private var model: [Int: UInt8] = [:]

  init() throws {
    test = try TestStore()
    try test.store.write { scope in _ = try scope.insert(Document(text: "one"), into: test.notes, at: .top) }
    // Creates the tables.
    try test.store.index(test.notes, .titles)
  }

  /// Writes pages in one transaction, after the pages beyond `count` are removed.
  private mutating func write(_ pages: [Int], truncatingTo count: Int? = nil, renewing: Bool = false, _ byte: UInt8)
    throws
  {
    try test.store.engine.writing { transaction throws(StoreError) in
      let tables = IndexTables(transaction.database)
      let root: IndexRoot
      if model.isEmpty {
        try tables.delete(IndexPart.contents)
        root = try IndexRoot(
          part: IndexPart.contents, pageSize: UInt32(Self.pageSize), declaration: IndexDeclaration().bytes)
      } else {
        root = try Self.root(transaction)
      }
      try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
      let file = IndexPages(root, transaction.database, transaction.keys, .inStore)
      do {
        if let count { try file.truncate(to: count) }
        for page in pages {
          try [UInt8](repeating: byte, count: Self.pageSize).withUnsafeBytes { try file.write(page, $0) }
        }
      } catch {
        throw StoreError(.systemFailure, "\(error)")
      }
      if renewing { try file.renewIdentity() }
      try file.finish(IndexRoot.Contents(transaction.state, mark: [UInt8](repeating: 0, count: 32), generation: 1))
      try tables.put(file.root, transaction.keys)
      try transaction.commit()
    }
    if let count { model = model.filter { $0.key < count } }
    for page in pages { model[page] = byte }
  }

  private static func root(_ transaction: StoreTransaction) throws(StoreError) -> IndexRoot {
    guard let row = try IndexTables(transaction.database).root(of: IndexPart.contents) else {
      throw StoreError(.systemFailure, "no root")
    }
    return try IndexRoot(part: IndexPart.contents, epoch: row.epoch, sealed: row.sealed, transaction.keys)
  }

  /// Requires the stored pages to be those of the model, and returns the root.
  @discardableResult
  private func expectModel() throws -> IndexRoot {
    try test.store.engine.reading { transaction throws(StoreError) in
      let root = try Self.root(transaction)
      #expect(Int(root.pageCount) == model.count)
      #expect(root.map.changes.count <= IndexMap.maximumChanges)
      #expect(try IndexPages.problem(of: root, transaction.database, transaction.keys) == nil)
      let file = IndexPages(root, transaction.database, transaction.keys, .inMemory(PageBudget(0)))
      var memory = [UInt8](repeating: 0, count: Self.pageSize)
      for (page, byte) in model {
        do { try memory.withUnsafeMutableBytes { try file.read(page, into: $0) } } catch {
          throw StoreError(.systemFailure, "page \(page): \(error)")
        }
        #expect(memory == [UInt8](repeating: byte, count: Self.contentByteCount) + [UInt8](repeating: 0, count: 96))
      }
      return root
    }
  }

  @Test(arguments: 1...4) mutating func randomWritesMatchModel(_ seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    try write(Array(0..<random.number(below: 1500) + 1), 1)
    for round in 0..<12 {
      let count = random.number(below: 4) == 0 ? random.number(below: model.count + 1) : nil
      let left = count ?? model.count
      var pages = Set((0..<random.number(below: 700)).compactMap { _ in left > 0 ? random.number(below: left) : nil })
      // New pages are in ascending order, but may be written before the others.
      pages.formUnion(left..<max(1, left + random.number(below: 300)))
      try write(
        pages.shuffled(using: &random), truncatingTo: count, renewing: random.number(below: 4) == 0, UInt8(round + 2))
      try expectModel()
    }
  }

  /// Each stored row is put back to each of its earlier versions, alone: whoever reads the page notices.
  @Test mutating func rejectsEveryReplayedRow() throws {
    try write(Array(0..<700), 1)
    let old = try test.raw().query("SELECT place,sealed FROM coffer_x_index_page WHERE place>>32=1").rows
    try write(Array(0..<700), 2)
    let root = try expectModel()
    #expect(root.map.tags.count > 2)
    for row in old {
      try test.store.engine.writing { transaction throws(StoreError) in
        let place = row[0].integer ?? 0
        try transaction.database.execute(
          "UPDATE coffer_x_index_page SET sealed=? WHERE place=?", row[1].blob ?? [], place)
        let problem = try IndexPages.problem(of: root, transaction.database, transaction.keys)
        #expect(problem?.message.contains("is not the one that was written") == true, "\(place)")
        // Not committed.
      }
    }
  }

  /// SQLite doesn't write the page of its lock bytes, nor some free pages.
  @Test mutating func unwrittenPagesHoldZeros() throws {
    try write([0, 1], 1)
    try write([700], 2)
    for page in 2..<700 { model[page] = 0 }
    try expectModel()
    try write([300], 3)
    try expectModel()
  }

  @Test mutating func scatteredWritesChangeFewMapPages() throws {
    try write(Array(0..<6000), 1)
    func mapPages() throws -> [Int64: [UInt8]] {
      let rows = try test.raw().query(
        "SELECT place,sealed FROM coffer_x_index_page WHERE place>>32=1 AND place & 0x80000000"
      ).rows
      return Dictionary(uniqueKeysWithValues: rows.map { ($0[0].integer ?? 0, $0[1].blob ?? []) })
    }
    let before = try mapPages()
    #expect(before.count > 40)
    // Fewer than the root holds.
    try write((0..<200).map { $0 * 29 }, 2)
    #expect(try mapPages() == before)
    try expectModel()
  }
}
