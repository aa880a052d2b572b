import Coffer
import CofferDocuments
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Indexes and ranked search against plain FTS5 tables over the same documents.
@Suite struct IndexTests {
  private static let words = [
    "sealed", "store", "page", "index", "key", "note", "rank", "open", "Öl", "Straße", "naïve", "写", "x9", "Café",
  ]

  private static func text(_ random: inout Pseudorandom, upTo count: Int = 30) -> String {
    (0..<(1 + random.number(below: count))).map { _ in
      words[min(random.number(below: words.count), random.number(below: words.count))]
    }.joined(separator: [" ", ", ", "\n", " - "][random.number(below: 4)])
  }

  private static func document(_ random: inout Pseudorandom) -> Document {
    Document(title: random.number(below: 5) == 0 ? nil : text(&random, upTo: 4), text: text(&random))
  }

  private static let queries = [
    "sealed", "sealed store", "rank OR open", "\"sealed store\"", "title: page", "NEAR(page index, 3)", "ope*",
    "sealed NOT store", "key AND (note OR rank)", "absent", "ol", "cafe", "straße",
  ]

  /// Returns a plain FTS5 table over the current documents of a collection.
  private func plainTable(_ store: DocumentStore, _ notes: DocumentCollection) throws -> Database {
    let plain = try Database(":memory:", mode: .create)
    try WordTokenizer.add(to: plain)
    try plain.execute(
      """
      CREATE VIRTUAL TABLE plain
      USING fts5(title, text, tokenize='\(WordTokenizer.declaration(keepingDiacritics: false))')
      """)
    try store.read { scope in
      try scope.forEach(in: notes) {
        try plain.execute(
          "INSERT INTO plain(rowid,title,text) VALUES(?,?,?)", $0.header.id.rawValue, $0.header.title ?? "", $0.text)
      }
    }
    return plain
  }

  private func expectSame(
    _ store: DocumentStore, _ notes: DocumentCollection, _ place: SourceLocation = #_sourceLocation
  )
    throws
  {
    let plain = try plainTable(store, notes)
    for query in Self.queries {
      let wanted = try plain.query(
        "SELECT rowid, bm25(plain) AS r FROM plain WHERE plain MATCH ? ORDER BY r, rowid", query
      ).rows.map { ($0[0].integer!, -$0[1].real!) }
      let found = try store.read { scope in try scope.search(ranked: query, in: notes, limit: 1000) }
      #expect(found.matches.map(\.header.id.rawValue) == wanted.map(\.0), "\(query)", sourceLocation: place)
      #expect(found.matches.map(\.score) == wanted.map(\.1), "\(query)", sourceLocation: place)
      #expect(found.total == wanted.count, sourceLocation: place)
    }
  }

  @Test(.slow) func matchesPlainTableWhileOutdated() throws {
    try withTestStore { test in
      var random = Pseudorandom(seed: 18)
      let (store, notes) = (test.store, test.notes)
      var ids = try store.write { scope in
        try (0..<400).map { _ in try scope.insert(Self.document(&random), into: notes, at: .bottom) }
      }
      try store.write { scope in _ = try scope.insert(Document(text: "sealed elsewhere"), into: "other", at: .top) }
      try store.index(notes, .words())
      #expect(try store.read { try $0.indexes(of: notes) } == [.words()])
      try expectSame(store, notes)
      for round in 0..<12 {
        try store.write { scope in
          for _ in 0..<(round % 4 == 3 ? 60 : 8) {
            let id = ids[random.number(below: ids.count)]
            switch random.number(below: 6) {
            case 0: ids.append(try scope.insert(Self.document(&random), into: notes, at: .top))
            case 1:
              try scope.delete(id)
              ids.removeAll { $0 == id }
            case 2: try scope.move(id, to: .top)
            case 3:
              try scope.move(id, into: "other")
              ids.removeAll { $0 == id }
            default:
              let text = Self.text(&random)
              try scope.update(id) { $0.text = text }
            }
          }
        }
        // Search in memory, after an update of the file, and through another handle.
        if round % 3 == 0 { try expectSame(store, notes) }
        if round % 3 == 1 { _ = try store.read { try $0.search(ranked: "sealed", in: notes) } }
        if round % 3 == 2 { #expect(try store.updateIndexes()) }
        try expectSame(store, notes)
        try expectSame(try test.reopened(), notes)
      }
    }
  }

  @Test func paginatesWithinOneGeneration() throws {
    let test = try TestStore()
    var random = Pseudorandom(seed: 3)
    try test.store.write { scope in
      for _ in 0..<200 { _ = try scope.insert(Self.document(&random), into: test.notes, at: .bottom) }
    }
    try test.store.index(test.notes, .words())
    let all = try test.store.read { try $0.search(ranked: "sealed OR store", in: test.notes, limit: 1000) }
    #expect(all.next == nil && all.total == all.matches.count && all.total > 50)
    var pages: [RankedMatches.Match] = []
    var cursor: RankedMatches.Cursor?
    repeat {
      let page = try test.store.read {
        try $0.search(ranked: "sealed OR store", in: test.notes, limit: 7, after: cursor)
      }
      #expect(page.total == all.total)
      pages += page.matches
      cursor = page.next
    } while cursor != nil
    #expect(pages == all.matches)
    let first = try test.store.read { try $0.search(ranked: "sealed", in: test.notes, limit: 2) }
    expect(.misuse) { try test.store.read { try $0.search(ranked: "store", in: test.notes, after: first.next) } }
    _ = try test.store.write { scope in try scope.insert(Document(text: "sealed"), into: test.notes, at: .top) }
    expect(.misuse) { try test.store.read { try $0.search(ranked: "sealed", in: test.notes, after: first.next) } }
  }

  @Test func reportsRangesOfMatchedWords() throws {
    let test = try TestStore()
    _ = try test.store.write { scope in
      try scope.insert(
        Document(title: "Öl und Café", text: String(repeating: "zeile ", count: 100) + "ein Café\0 im Öl"),
        into: test.notes, at: .top)
      try scope.insert(["text": "tea in a café"], into: test.notes, at: .bottom)
    }
    try test.store.index(test.notes, .words())
    let found = try test.store.read { try $0.search(ranked: "cafe OR ol", in: test.notes) }
    #expect(found.matches.count == 2)
    let match = try #require(found.matches.first { $0.header.title != nil })
    #expect(match.titleRanges == [0..<3, 8..<13])
    let snippet = try #require(match.snippet)
    #expect(snippet.text.hasPrefix("…") && snippet.text.hasSuffix("ein Café\0 im Öl"))
    #expect(snippet.ranges.map { String(decoding: Array(snippet.text.utf8)[$0], as: UTF8.self) } == ["Café", "Öl"])
    let value = try #require(found.matches.first { $0.header.isJSON })
    #expect(value.snippet?.text == "tea in a café\n" && value.snippet?.ranges.count == 1)
  }

  @Test(arguments: [
    ("\"sealed", 1), ("sealed )", 8), ("AND", 1), ("sealed AND", 0), ("a-b", 0), ("(sealed store", 0),
    ("ti tle ? x", 8),
    ("body: x", 1), ("sealed OR {title body}: x", 0), ("Straße bödy: é", 8), ("bodywork OR body: x", 13),
    ("\"body\": x", 2), ("\"\": x", 0),
    ("{title \"\"}: x", 0), ("- \"\": x", 0), ("body OR {title body}: x", 16), ("e\u{301} )\u{301}", 3),
    ("sealed (a) a (", 0), ("a AND b ) c )", 9), ("", 0),
  ]) func reportsLocationOfQueryErrors(_ query: String, _ place: Int) throws {
    let test = try TestStore()
    _ = try test.store.write { scope in try scope.insert(Document(text: "sealed a b"), into: test.notes, at: .top) }
    expect(.noIndex) { try test.store.read { try $0.search(ranked: query, in: test.notes) } }
    try test.store.index(test.notes, .words())
    do {
      let found = try test.store.read { try $0.search(ranked: query, in: test.notes) }
      #expect(query.isEmpty && found.total == 0)
    } catch let error as StoreError {
      #expect(error.code == .invalidArgument, "\(error)")
      #expect(place == 0 || error.message.hasSuffix("at character \(place)"), "\(query): \(error.message)")
    }
  }

  @Test func keepsPlaintextOffDisk() throws {
    let test = try TestStore()
    let secret = "Xylophonspieler"
    try test.store.write { scope in
      for number in 0..<300 {
        _ = try scope.insert(Document(text: "\(secret)\(number) spielt \(number)"), into: test.notes, at: .bottom)
      }
    }
    try test.store.index(test.notes, .words(), .substrings, .field("bytes", "@title", as: .folded))
    let bytes = try test.bytesOnDisk()
    for token in [secret, secret.lowercased(), "spieler1", "coffer_words", "fts5", "words_"] {
      #expect(bytes.range(of: Data(token.utf8)) == nil, "\(token)")
    }
    #expect(try test.raw().query("SELECT count(*) FROM coffer_x_index_page").rows[0][0].integer! > 5)
  }

  @Test func droppingIndexesRemovesPages() throws {
    try withTestStore { test in
      var random = Pseudorandom(seed: 5)
      try test.store.write { scope in
        for _ in 0..<50 { _ = try scope.insert(Self.document(&random), into: test.notes, at: .bottom) }
      }
      try test.store.index(test.notes, .words(), .field("bytes", "@size", as: .number))
      try test.store.dropIndexes(test.notes, [.words()])
      #expect(try test.store.read { try $0.indexes(of: test.notes) } == [.field("bytes", "@size", as: .number)])
      expect(.noIndex) { try test.store.read { try $0.search(ranked: "sealed", in: test.notes) } }
      try test.store.dropIndexes(test.notes)
      #expect(try test.store.read { try $0.indexes(of: test.notes) }.isEmpty)
      #expect(try test.raw().query("SELECT name FROM sqlite_schema WHERE name LIKE 'coffer_x%'").rows.isEmpty)
      #expect(try test.raw().query("SELECT compat FROM coffer_header").rows[0][0] == .integer(0))
      try test.store.index(test.notes, .words())
      try expectSame(test.store, test.notes)
    }
  }

  /// Returns a store with 60 documents and a word index.
  private func indexed() throws -> TestStore {
    let test = try TestStore()
    var random = Pseudorandom(seed: 60)
    try test.store.write { scope in
      for _ in 0..<60 { _ = try scope.insert(Self.document(&random), into: test.notes, at: .bottom) }
    }
    try test.store.index(test.notes, .words(), .field("first", "@title", as: .folded))
    return test
  }

  @Test(arguments: ["put", "fold"])
  func rewrittenRowsLeaveIndexSound(change: String) throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "dawn", key: "KEY"), into: test.notes) }
      try test.store.index(test.notes, .words())
      try test.store.write { writer throws in
        switch change {
        case "put": try writer.put(try writer.document(1), id: 1, into: test.notes)
        default: _ = try writer.update(test.notes, foldsKeys: true)
        }
      }
      let verdict = try test.store.verify()
      #expect(verdict.isSound, "\(verdict.indexProblems)")
    }
  }

  // MARK: Keys and copies

  @Test func rekeyReencryptsIndexPages() throws {
    let test = try indexed()
    let before = try test.raw().query("SELECT place,sealed FROM coffer_x_index_page").rows
    let old = try test.store.engine.session.keys
    try test.store.rekey(to: [.published("next")]) { _ in }
    try expectSame(test.store, test.notes)
    let after = try test.raw().query("SELECT epoch,sealed FROM coffer_x_index_page").rows
    #expect(!after.isEmpty && after.allSatisfy { $0[0] == .integer(2) })
    #expect(Set(before.map { $0[1].blob }).isDisjoint(with: after.map { $0[1].blob }))
    let row = try #require(try test.raw().query("SELECT epoch,sealed FROM coffer_x_index").rows.first)
    expect(.damaged) {
      try IndexRoot(part: 1, epoch: 1, sealed: row[1].blob ?? [], try RowKeys(old))
    }
    try test.expectSound()
    // A keys-only rekey leaves the rebuild to the next search or update.
    try test.store.rekey(to: [.published("primary")], options: .keysOnly) { _ in }
    #expect(try test.raw().query("SELECT count(*) FROM coffer_x_index_page").rows[0][0] == .integer(0))
    try expectSame(test.store, test.notes)
    try test.store.updateIndexes()
    #expect(try test.raw().query("SELECT count(*) FROM coffer_x_index_page").rows[0][0].integer! > 0)
    try expectSame(test.store, test.notes)
  }

  @Test func copiesKeepDeclaredIndexes() throws {
    let test = try indexed()
    let backup = test.place.file("backup.coffer")
    try test.store.backup(to: backup)
    let export = test.place.file("export.coffer")
    try test.store.copy(.everything, to: export, keys: [.published("primary")])
    let salvaged = test.place.file("salvaged.coffer")
    _ = try DocumentStore.salvage(
      at: test.url, key: .published("primary"), to: salvaged, keys: [.published("primary")], options: .testing)
    let copy = test.place.file("copy.coffer")
    let editable = try DocumentStore.openEditableCopy(
      of: test.url, at: copy, key: .published("primary"), options: .testing)
    for store in [
      try DocumentStore.open(at: backup, key: .published("primary"), options: .testing),
      try DocumentStore.open(at: export, key: .published("primary"), options: .testing),
      try DocumentStore.open(at: salvaged, key: .published("primary"), options: .testing), editable,
    ] {
      #expect(try store.read { try $0.indexes(of: test.notes) } == test.store.read { try $0.indexes(of: test.notes) })
      #expect(try !store.updateIndexes())
      try expectSame(store, test.notes)
      #expect(try store.verify().isSound)
    }
  }

  // MARK: Attacks

  /// Changes to index rows by an attacker without keys, and whether `verify` detects them.
  private static let attacks: [(String, String, isFound: Bool)] = [
    (
      "a flipped page",
      "UPDATE coffer_x_index_page SET sealed=zeroblob(length(sealed)) WHERE place=(SELECT min(place)+1 FROM coffer_x_index_page)",
      true
    ),
    (
      "pages exchanged",
      "UPDATE coffer_x_index_page SET sealed=(SELECT sealed FROM coffer_x_index_page WHERE place=(SELECT max(place) FROM coffer_x_index_page)) WHERE place=(SELECT min(place)+1 FROM coffer_x_index_page)",
      true
    ),
    (
      "a missing page", "DELETE FROM coffer_x_index_page WHERE place=(SELECT max(place) FROM coffer_x_index_page)", true
    ),
    ("no pages", "DELETE FROM coffer_x_index_page", true),
    ("another epoch", "UPDATE coffer_x_index_page SET epoch=2", true),
    ("pages of another class", "UPDATE coffer_x_index_page SET sealed=x'00'", true),
    ("a flipped root", "UPDATE coffer_x_index SET sealed=zeroblob(length(sealed))", true),
    ("no root", "DELETE FROM coffer_x_index", true),
    ("no tables", "DROP TABLE coffer_x_index; DROP TABLE coffer_x_index_page", false),
    ("another table", "DROP TABLE coffer_x_index; CREATE TABLE coffer_x_index(part, epoch, sealed)", false),
  ]

  @Test(.slow, arguments: attacks.indices)
  func rejectsTamperedIndexPages(_ index: Int) throws {
    let (name, sql, isFound) = Self.attacks[index]
    let test = try indexed()
    let wanted = try test.store.read { try $0.search(ranked: "sealed OR key", in: test.notes, limit: 100) }
    try test.store.close()
    try test.raw().execute(sql)
    let store = try test.reopened()
    #expect(try store.verify().isSound == !isFound, "\(name)")
    do {
      // The result comes from an index rebuilt in memory.
      let found = try store.read { try $0.search(ranked: "sealed OR key", in: test.notes, limit: 100) }
      #expect(found == wanted, "\(name)")
    } catch let error as StoreError {
      #expect(error.code == .damaged, "\(name): \(error)")
    }
    // An update rebuilds the index if its root opens. Otherwise the caller declares the index anew.
    if try store.read({ try $0.indexes(of: test.notes) }).isEmpty {
      try store.index(test.notes, .words())
    } else {
      try store.updateIndexes()
    }
    #expect(try store.verify().isSound, "\(name)")
    #expect(
      try store.read { try $0.search(ranked: "sealed OR key", in: test.notes, limit: 100) }.matches == wanted.matches,
      "\(name)")
  }

  @Test(arguments: [
    "UPDATE coffer_x_index SET sealed=zeroblob(length(sealed))",
    "DROP TABLE coffer_x_index; DROP TABLE coffer_x_index_page",
  ])
  func reportsLostDeclaration(_ damage: String) throws {
    let test = try indexed()
    let indexes = try test.store.read { try $0.indexes(of: test.notes) }
    let queries = ["SELECT first FROM notes", #"SELECT id FROM "notes.match"('sealed')"#]
    for sql in queries { #expect(try test.store.read { try $0.query(sql) }.rows.isEmpty == false, "\(sql)") }
    try test.store.close()
    try test.raw().execute(damage)
    let store = try test.reopened()
    for sql in queries {
      let error = #expect(throws: StoreError.self) { try store.read { try $0.query(sql) } }
      #expect(error?.code == .damaged && error?.hint?.contains("setIndexes") == true, "\(sql)")
    }
    expect(.damaged) { try store.read { try $0.search(ranked: "sealed", in: test.notes) } }
    expect(.invalidArgument) { try store.read { try $0.query("SELECT id FROM") } }
    try store.write { try $0.setIndexes(indexes, of: test.notes) }
    for sql in queries { #expect(try store.read { try $0.query(sql) }.rows.isEmpty == false, "\(sql)") }
    expect(.invalidArgument) { try store.read { try $0.query("SELECT absent FROM notes") } }
    #expect(try store.verify(.full).isSound)
  }

  @Test func updatesReplayedRootAndPages() throws {
    let test = try indexed()
    let place = test.place.file("old.coffer")
    try test.store.close()
    try FileManager.default.copyItem(at: test.url, to: place)
    var store = try test.reopened()
    let id = try store.write { scope in
      try scope.insert(Document(text: "sealed yesterday"), into: test.notes, at: .top)
    }
    try store.write { scope in _ = try scope.update(id) { $0.text = "quite another" } }
    #expect(try store.updateIndexes())
    try store.close()
    try test.putIndexes(of: place)
    store = try test.reopened()
    try expectSame(store, test.notes)
    // Update the replayed index in the file.
    _ = try store.updateIndexes()
    try expectSame(store, test.notes)
    #expect(try store.verify().isSound)
  }

  /// Pages newer than the root invalidate the index, even if each page opens.
  @Test func rejectsOldRootWithNewPages() throws {
    let test = try indexed()
    let old = try #require(try test.raw().firstValue("SELECT sealed FROM coffer_x_index")?.blob)
    try test.store.write { scope in
      _ = try scope.insert(Document(text: "sealed today"), into: test.notes, at: .top)
    }
    #expect(try test.store.updateIndexes())
    try test.store.close()
    let raw = try test.raw()
    try raw.execute("UPDATE coffer_x_index SET sealed=?", old)
    try raw.close()
    let store = try test.reopened()
    let problems = try store.verify().indexProblems
    #expect(problems.contains { $0.message.contains("is not the one that was written") }, "\(problems)")
    try expectSame(store, test.notes)
    #expect(try store.updateIndexes())
    try expectSame(store, test.notes)
    #expect(try store.verify().isSound)
  }

  /// After random changes to index rows, every query returns correct results or reports a missing index.
  @Test(.slow) func rejectsIndexesWithFlippedBits() throws {
    let test = try TestStore()
    var random = Pseudorandom(seed: 44)
    try test.store.write { scope in
      for _ in 0..<120 { _ = try scope.insert(Self.document(&random), into: test.notes, at: .bottom) }
    }
    try test.store.index(test.notes, .words(), .substrings, .titles, .field("bytes", "@size", as: .number))
    let answers = { (store: DocumentStore) throws in
      (
        try store.read { try $0.search(ranked: "sealed OR key", in: test.notes, limit: 200) }.matches,
        try store.read { try $0.search(for: .text("seal"), in: test.notes) }.map(\.header.id),
        try store.read { try $0.query("SELECT id, bytes, title FROM notes WHERE bytes > 20 ORDER BY bytes, id") }.rows
          .map(\.values),
        try store.read { scope in try scope.headers(in: test.notes) }
      )
    }
    let wanted = try answers(test.store)
    try test.store.close()
    let sound = try Data(contentsOf: test.url)
    let places = try test.raw().query("SELECT place FROM coffer_x_index_page").rows.compactMap { $0[0].integer }
    for _ in 0..<60 {
      try sound.write(to: test.url)
      let raw = try test.raw()
      let isRoot = random.number(below: 6) == 0
      let (table, row) =
        isRoot
        ? ("coffer_x_index", "part=\(1 + random.number(below: 2))")
        : ("coffer_x_index_page", "place=\(places[random.number(below: places.count)])")
      var bytes = try #require(try raw.firstValue("SELECT sealed FROM \(table) WHERE \(row)")?.blob)
      bytes[random.number(below: bytes.count)] ^= 1 << UInt8(random.number(below: 8))
      try raw.execute("UPDATE \(table) SET sealed=? WHERE \(row)", bytes)
      try raw.close()
      let store = try test.reopened()
      do {
        let found = try answers(store)
        #expect(found.0 == wanted.0 && found.1 == wanted.1 && found.3 == wanted.3, "\(row)")
        #expect(found.2 == wanted.2, "\(row)")
      } catch let error as StoreError {
        #expect(error.code == .damaged, "\(row): \(error)")
      }
      #expect(try !store.verify().isSound, "\(row)")
      try store.close()
    }
  }

  /// Random page contents encrypted by a key holder cause index errors instead of a crash.
  @Test(.slow) func survivesRandomPageContents() throws {
    let test = try indexed()
    try test.store.index(test.notes, .titles, .field("bytes", "@size", as: .number))
    try test.store.close()
    let sound = try Data(contentsOf: test.url)
    var random = Pseudorandom(seed: 45)
    for _ in 0..<60 {
      try sound.write(to: test.url)
      let store = try test.reopened()
      try store.engine.writing { transaction throws(StoreError) in
        for part in IndexPart.all {
          guard let found = try StoreIndexes(transaction).root(part) else { continue }
          try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
          let pages = IndexPages(found.root, transaction.database, transaction.keys, .inStore)
          let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: pages.pageSize, alignment: 16)
          defer { memory.deallocate() }
          let page = random.number(below: pages.pageCount)
          do {
            try pages.read(page, into: memory)
            for _ in 0..<(1 + random.number(below: 40)) {
              let offset = random.number(below: random.number(below: 2) == 0 ? 120 : pages.pageSize - 96)
              memory[offset] = UInt8(truncatingIfNeeded: random.number(below: 256))
            }
            try pages.write(page, UnsafeRawBufferPointer(memory))
          } catch {
            throw StoreError(.systemFailure, "\(error)")
          }
          try pages.finish(found.root.contents!)
          try transaction.put(pages.root)
        }
        try transaction.commit()
      }
      try exerciseStore(test)
    }
  }

  /// A key holder encrypts and authenticates pages that don't form a database.
  @Test(arguments: [UInt8(0), 0xAA])
  func rebuildsPagesWithInvalidDatabase(_ byte: UInt8) throws {
    let test = try indexed()
    try test.store.index(test.notes, .titles, .substrings)
    let wanted = try test.store.read { scope in try scope.headers(in: test.notes) }
    try test.store.engine.writing { transaction throws(StoreError) in
      for part in IndexPart.all {
        guard let found = try StoreIndexes(transaction).root(part) else { continue }
        try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
        let pages = IndexPages(found.root, transaction.database, transaction.keys, .inStore)
        do {
          for page in 0..<pages.pageCount {
            try [UInt8](repeating: byte, count: pages.pageSize).withUnsafeBytes { try pages.write(page, $0) }
          }
        } catch {
          throw StoreError(.systemFailure, "\(error)")
        }
        try pages.finish(found.root.contents!)
        try transaction.put(pages.root)
      }
      try transaction.commit()
    }
    let store = try test.reopened()
    #expect(try store.read { scope in try scope.headers(in: test.notes) } == wanted)
    #expect(try store.read { try $0.search(for: .text("seal"), in: test.notes) }.count > 0)
    #expect(try store.read { try $0.query("SELECT count(first) FROM notes") }.rows[0][0].integer ?? 0 > 0)
    try expectSame(store, test.notes)
    #expect(try !store.checkIndexes().problems.isEmpty)
    try store.close()
    try exerciseStore(test)
  }

  /// A key holder encrypts rows that the writer never creates in the inner databases.
  @Test(
    .slow,
    arguments: [
      "UPDATE document SET coll=-5", "UPDATE document SET coll=1<<40", "UPDATE document SET mark=0", "DELETE FROM made",
      "INSERT INTO made VALUES(-1,0,0)", "INSERT INTO made VALUES(-1)",
      "UPDATE made SET outdated_rows=9223372036854775807,outdated_tokens=-9223372036854775807-1",
      "UPDATE document SET row=9223372036854775807", "UPDATE document SET row=-1", "INSERT INTO outdated_1 VALUES(-3)",
      "INSERT INTO outdated_1 SELECT id FROM document", "DELETE FROM fields_1", "DROP TABLE document",
      "DROP TABLE made",
      "DELETE FROM words_1_data", "UPDATE words_1_data SET block=x'' WHERE id=1",
      "UPDATE words_1_docsize SET sz=x'ffffffffffffffffffff'", "UPDATE titles_1 SET header=x'00'",
      "UPDATE titles_1 SET header=x''", "UPDATE titles_1 SET id=-id",
      "INSERT INTO words_1(rowid,title,text) VALUES(-4,'sealed','key'),(1<<62,'sealed','key')",
    ])
  func survivesInvalidInnerRows(_ sql: String) throws {
    let test = try indexed()
    try test.store.index(test.notes, .titles, .substrings, .field("bytes", "@size", as: .number))
    let store = try test.reopened()
    var changes = 0
    try store.engine.writing { transaction throws(StoreError) in
      for part in IndexPart.all {
        guard let found = try StoreIndexes(transaction).root(part) else { continue }
        try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
        let pages = IndexPages(found.root, transaction.database, transaction.keys, .inStore)
        do throws(SQLiteError) {
          let inner = try Database(pages: pages, cacheBytes: 1 << 20)
          try WordTokenizer.add(to: inner)
          try inner.execute(sql)
          changes += 1
        } catch {
          // This index doesn't have the tables.
          continue
        }
        try pages.finish(found.root.contents!)
        try transaction.put(pages.root)
      }
      try transaction.commit()
    }
    try store.close()
    #expect(changes > 0)
    try exerciseStore(test)
  }

  /// Runs every kind of read on a store with a damaged index, and updates and drops the index.
  private func exerciseStore(_ test: TestStore) throws {
    let store = try test.reopened()
    for question in [
      { _ = try store.read { try $0.search(ranked: "sealed OR key", in: test.notes) } },
      { _ = try store.read { try $0.search(for: .text("sealed"), in: test.notes) } },
      { _ = try store.read { try $0.query("SELECT bytes, title FROM notes WHERE bytes > 3 ORDER BY bytes") } },
      {
        _ = try store.read { try $0.query("SELECT n.id FROM notes n JOIN \"notes.match\"('sealed') m ON m.id = n.id") }
      },
      { _ = try store.read { scope in try scope.headers(in: test.notes) } }, { _ = try store.checkIndexes() },
      { _ = try store.write { scope in try scope.update(1) { $0.title = "changed" } } },
      { _ = try store.read { try $0.search(ranked: "changed", in: test.notes) } }, { _ = try store.updateIndexes() },
    ] as [() throws -> Void] {
      do { try question() } catch is StoreError {}
    }
    #expect(try store.read { scope in try scope.header(of: 1).title } == "changed")
    try store.dropIndexes(test.notes)
    #expect(try store.verify().isSound)
  }

  @Test func asyncSearchFindsNewDocuments() async throws {
    let test = try indexed()
    try test.store.index(test.notes, .substrings)
    try await test.store.write { scope in
      _ = try scope.insert(Document(text: "quite new"), into: test.notes, at: .top)
    }
    #expect(try await test.store.read { try $0.search(for: .text("quite new"), in: test.notes) }.count == 1)
    #expect(try await offCooperativePool { try test.store.updateIndexes() })
  }

  @Test func reportsUnreadableDeclaration() throws {
    let test = try indexed()
    try test.store.engine.writing { transaction throws(StoreError) in
      guard var root = try StoreIndexes(transaction).root(IndexPart.contents)?.root else { return }
      root.declaration = Array("[]".utf8)
      try transaction.put(root)
      try transaction.commit()
    }
    let store = try test.reopened()
    #expect(try store.verify().indexProblems.count == 1)
    expect(.damaged) { try store.read { try $0.search(ranked: "sealed", in: test.notes) } }
    _ = try store.read { try $0.search(for: .text("sealed"), in: test.notes) }
    // The declaration is lost, so the update removes the index and throws an error.
    expect(.damaged) { try store.updateIndexes() }
    #expect(try store.verify().isSound)
    #expect(try store.read { try $0.indexes(of: test.notes) }.isEmpty)
    try store.index(test.notes, .words())
    try expectSame(store, test.notes)
  }

  @Test func checkFindsOrphanedRows() throws {
    for sql in [
      "INSERT INTO fields_1 VALUES(9999,'x')", "INSERT INTO words_1(rowid,title,text) VALUES(9999,'sealed','key')",
      "INSERT INTO document VALUES(9999,1,1,1,NULL)",
    ] {
      let test = try indexed()
      try change(IndexPart.contents, of: test.store, sql)
      #expect(try !test.store.checkIndexes().problems.isEmpty, "\(sql)")
    }
  }

  @Test func rebuildsReplayedSchemaInOpenStore() throws {
    let test = try indexed()
    let old = test.place.file("old.coffer")
    try FileManager.default.copyItem(at: test.url, to: old)
    try test.store.index(test.notes, .field("bytes", "@size", as: .number))
    let sql = "SELECT id, first, bytes FROM notes WHERE bytes > 10 ORDER BY bytes, id"
    let wanted = try test.store.read { try $0.query(sql) }.rows.map(\.values)
    let raw = try test.raw()
    try raw.execute("ATTACH '\(old.path)' AS old")
    try raw.execute("REPLACE INTO coffer_x_index_page SELECT * FROM old.coffer_x_index_page")
    try raw.close()
    for _ in 0..<2 { #expect(try test.store.read { try $0.query(sql + " LIMIT 1000") }.rows.map(\.values) == wanted) }
  }

  @Test func searchesFileWithHardLink() throws {
    let test = try indexed()
    try test.store.write { scope in
      _ = try scope.insert(Document(text: "sealed today"), into: test.notes, at: .top)
    }
    try FileManager.default.linkItem(at: test.url, to: test.place.file("other.coffer"))
    defer { try? FileManager.default.removeItem(at: test.place.file("other.coffer")) }
    #expect(try test.store.read { try $0.search(ranked: "today", in: test.notes) }.total == 1)
  }

  /// Changes an inner database as a key holder can.
  private func change(_ part: UInt32, of store: DocumentStore, _ sql: String) throws {
    try store.engine.writing { transaction throws(StoreError) in
      guard let found = try StoreIndexes(transaction).root(part) else { return }
      try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
      let pages = IndexPages(found.root, transaction.database, transaction.keys, .inStore)
      do throws(SQLiteError) {
        let inner = try Database(pages: pages, cacheBytes: 1 << 20)
        try WordTokenizer.add(to: inner)
        try inner.execute(sql)
      } catch {
        throw StoreError(error)
      }
      try pages.finish(found.root.contents!)
      try transaction.put(pages.root)
      try transaction.commit()
    }
  }

  /// `verify` finds unreadable roots and invalid rows, and an update removes them.
  @Test(arguments: [
    "UPDATE coffer_x_index SET sealed=zeroblob(length(sealed))", "UPDATE coffer_x_index SET epoch=9",
    "UPDATE coffer_x_index SET part=7", "INSERT INTO coffer_x_index VALUES(64,1,x'00')", "DELETE FROM coffer_x_index",
    "INSERT INTO coffer_x_index_page VALUES(-5,1,x'00')",
  ])
  func strayRowsAreFoundAndRemoved(_ sql: String) throws {
    let test = try indexed()
    try test.store.close()
    try test.raw().execute(sql)
    let store = try test.reopened()
    #expect(try !store.verify().isSound)
    #expect(try !store.checkIndexes().problems.isEmpty)
    expect(.damaged) { try store.updateIndexes() }
    #expect(try store.verify().isSound)
    #expect(try store.checkIndexes().problems.isEmpty)
    #expect(try !store.updateIndexes())
    try store.index(test.notes, .words())
    try expectSame(store, test.notes)
  }

  @Test func rejectsFTS5Commands() throws {
    let test = try indexed()
    for words in ["*reads", "*id", "*"] {
      expect(.invalidArgument) { try test.store.read { try $0.search(ranked: words, in: test.notes) } }
      expect(.invalidArgument) { try test.store.read { try $0.query("SELECT * FROM \"notes.match\"(?)", words) } }
    }
    expect(.invalidArgument) {
      try test.store.read { try $0.search(ranked: String(repeating: "alpha ", count: 5000), in: test.notes) }
    }
  }

  /// Updates the index during an unfinished rekey.
  @Test func finishingRekeyRebuildsIndex() throws {
    let test = try indexed()
    var options = RekeyOptions()
    options.isKeysOnly = true
    try test.store.rekey(options: options)
    #expect(try test.store.updateIndexes())
    #expect(try test.store.checkIndexes().problems.isEmpty)
    try test.store.rekey(options: RekeyOptions())
    #expect(try test.store.checkIndexes().problems.isEmpty)
    try expectSame(test.store, test.notes)
  }

  /// A replayed schema lacks the table for fields declared later.
  @Test func rebuildsReplayedSchema() throws {
    let test = try indexed()
    try test.store.close()
    let old = test.place.file("old.coffer")
    try FileManager.default.copyItem(at: test.url, to: old)
    var store = try test.reopened()
    try store.index(test.notes, .field("bytes", "@size", as: .number))
    let sql = "SELECT id, first, bytes FROM notes WHERE bytes > 10 ORDER BY bytes, id"
    let wanted = try store.read { try $0.query(sql) }.rows.map(\.values)
    try store.close()
    let raw = try test.raw()
    try raw.execute("ATTACH '\(old.path)' AS old")
    try raw.execute("REPLACE INTO coffer_x_index_page SELECT * FROM old.coffer_x_index_page")
    try raw.close()
    store = try test.reopened()
    #expect(try store.read { try $0.query(sql) }.rows.map(\.values) == wanted)
    #expect(try !store.verify().isSound)
    #expect(try store.updateIndexes())
    #expect(try store.read { try $0.query(sql) }.rows.map(\.values) == wanted)
    #expect(try store.checkIndexes().problems.isEmpty)
  }

  /// A root with another number, as a later version or a key holder would seal it.
  @Test func reportsRootOfUnknownIndex() throws {
    let test = try indexed()
    try test.store.engine.writing { transaction throws(StoreError) in
      let root = try IndexRoot(part: 3, pageSize: 4096, declaration: IndexDeclaration().bytes)
      try IndexTables(transaction.database).put(root, transaction.keys)
      try transaction.commit()
    }
    #expect(try !test.store.verify().indexProblems.isEmpty)
    try expectSame(test.store, test.notes)
  }

  /// An earlier index, with its root, would still have the declaration of its time.
  @Test(arguments: [false, true])
  func ignoresReplayedIndex(isOpen: Bool) throws {
    let test = try indexed()
    try test.store.close()
    let old = test.place.file("old.coffer")
    try FileManager.default.copyItem(at: test.url, to: old)
    var store = try test.reopened()
    try store.index(test.notes, .field("bytes", "@size", as: .number))
    let sql = "SELECT id, first, bytes FROM notes WHERE bytes > 10 ORDER BY bytes, id"
    let wanted = try store.read { try $0.query(sql) }.rows.map(\.values)
    if !isOpen { try store.close() }
    try test.putIndexes(of: old)
    if !isOpen { store = try test.reopened() }
    #expect(throws: StoreError.self) { try store.read { try $0.query(sql) } }
    #expect(throws: StoreError(.damaged, "")) { try store.read { try $0.search(ranked: "alpha", in: test.notes) } }
    let problems = try store.verify().indexProblems
    #expect(!problems.isEmpty && problems.allSatisfy { "\($0)".contains("earlier") }, "\(problems)")
    #expect(throws: StoreError(.damaged, "")) { try store.updateIndexes() }
    try store.index(test.notes, .words(), .field("first", "@title", as: .folded), .field("bytes", "@size", as: .number))
    #expect(try store.read { try $0.query(sql) }.rows.map(\.values) == wanted)
    #expect(try store.verify().isSound)
    #expect(try store.checkIndexes().problems.isEmpty)
  }

  /// A page of an earlier declaration can't even be opened.
  @Test func newDeclarationRenewsIdentity() throws {
    let test = try indexed()
    func identity() throws -> UniqueID? {
      try test.store.engine.reading { transaction throws(StoreError) in
        try StoreIndexes(transaction).root(IndexPart.contents)?.root.identity
      }
    }
    let first = try identity()
    try test.store.index(test.notes, .field("bytes", "@size", as: .number))
    let second = try identity()
    try test.store.updateIndexes()
    #expect(try identity() == second && second != first)
    #expect(try test.store.verify().isSound)
    #expect(try test.store.checkIndexes().problems.isEmpty)
    try expectSame(test.store, test.notes)
  }

  /// A key holder's index has other tables than the declared ones: it is made again.
  @Test(arguments: [
    "CREATE TABLE more(a)", "CREATE VIEW more AS SELECT 1", "DROP TABLE fields_1",
    "CREATE TRIGGER more AFTER INSERT ON document BEGIN DELETE FROM fields_1; END",
    "ALTER TABLE fields_1 RENAME COLUMN f0 TO f9", "CREATE INDEX more ON document(coll)",
  ])
  func rebuildsIndexWithOtherTables(_ sql: String) throws {
    let test = try indexed()
    try change(IndexPart.contents, of: test.store, sql)
    try test.store.close()
    let store = try test.reopened()
    try expectSame(store, test.notes)
    #expect(try !store.checkIndexes().problems.isEmpty)
    try store.updateIndexes()
    #expect(try store.checkIndexes().problems.isEmpty)
  }

  /// A query's view has the collection's name, here that of a table of the index.
  @Test func remakesTablesBesideViewOfTheirName() throws {
    let test = try TestStore()
    let notes: DocumentCollection = "fields_1"
    try test.store.write { scope in
      for number in 1...10 { _ = try scope.insert(Document(text: "sealed \(number)"), into: notes, at: .bottom) }
    }
    try test.store.index(notes, .words(), .field("bytes", "@size", as: .number))
    let sql = "SELECT count(*) FROM fields_1 WHERE bytes > 1"
    for round in 1...4 {
      #expect(try test.store.read { try $0.query(sql) }.rows[0][0] == .integer(10))
      try test.store.write { scope in
        for header in try scope.headers(in: notes) {
          _ = try scope.update(header.id) { $0.text = "round \(round) of \(header.id)" }
        }
      }
      #expect(try test.store.read { try $0.search(ranked: "round", in: notes) }.total == 10)
      #expect(try test.store.updateIndexes())
    }
    #expect(try test.store.checkIndexes().problems.isEmpty)
  }

  /// The root of an earlier or a later version: its index is made again from its declaration, by readers in memory.
  @Test(arguments: [1, 2, 4] as [UInt32]) func rebuildsIndexOfOtherVersion(_ version: UInt32) throws {
    let test = try indexed()
    try test.store.engine.writing { transaction throws(StoreError) in
      guard let root = try StoreIndexes(transaction).root(IndexPart.contents)?.root else { return }
      var builder = ByteBuilder()
      builder.append(version)
      builder.append(root.pageSize)
      builder.append(UInt32(root.declaration.count))
      builder.append(bytes: root.declaration + Array("unknown".utf8))
      let keys = transaction.keys
      let sealed = try translatingErrors { () throws(SealingError) in
        let frame = Frame.around(builder.bytes, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
        return try keys.active.index().seal(
          frame, authenticating: Array(keys.binding.indexRoot(part: root.part, epoch: keys.active.epoch)))
      }
      try transaction.database.execute(
        SQL.putIndexRoot, Int64(root.part), Int64(keys.active.epoch), sealed)
      try transaction.commit()
    }
    try test.store.close()
    let store = try test.reopened()
    #expect(try store.verify().isSound)
    try expectSame(store, test.notes)
    #expect(try store.updateIndexes())
    #expect(try store.verify().isSound)
    #expect(try store.checkIndexes().problems.isEmpty)
    try expectSame(store, test.notes)
  }

  @Test func rebuildsReplayedPages() throws {
    let test = try TestStore()
    let id = try test.store.write { scope in
      try scope.insert(Document(text: #"{"price": 10}"#), into: test.notes, at: .top)
    }
    try test.store.index(test.notes, .field("price", "$.price", as: .number))
    try test.store.close()
    let old = test.place.file("old.coffer")
    try FileManager.default.copyItem(at: test.url, to: old)
    var store = try test.reopened()
    try store.write { scope in _ = try scope.update(id) { $0.text = #"{"price": 20}"# } }
    #expect(try store.updateIndexes())
    try store.close()
    let raw = try test.raw()
    try raw.execute("ATTACH '\(old.path)' AS old")
    try raw.execute(
      "REPLACE INTO coffer_x_index_page SELECT * FROM old.coffer_x_index_page WHERE place & 0xFFFFFFFF > 0")
    try raw.close()
    store = try test.reopened()
    let prices = { try store.read { try $0.query("SELECT price, json ->> '$.price' FROM notes") }.rows.map(\.values) }
    #expect(try prices() == [[.integer(20), .integer(20)]])
    #expect(try !store.verify().isSound)
    #expect(try !store.checkIndexes().problems.isEmpty)
    #expect(try store.updateIndexes())
    #expect(try store.checkIndexes().problems.isEmpty)
    #expect(try prices() == [[.integer(20), .integer(20)]])
  }

  @Test func keepsDeletedWordsEncrypted() throws {
    let test = try indexed()
    let id = try test.store.write { scope in
      try scope.insert(Document(text: "xylophone"), into: test.notes, at: .top)
    }
    try test.store.updateIndexes()
    try test.store.write { scope in try scope.delete(id) }
    try test.store.updateIndexes()
    func containsDeletedWord() throws -> Bool {
      try test.store.engine.reading { transaction throws(StoreError) in
        guard let file = try StoreIndexes(transaction).open(IndexPart.contents) else { return false }
        return try file.run { database throws(SQLiteError) in
          try database.execute("CREATE VIRTUAL TABLE temp.seen USING fts5vocab('main', 'words_1', 'row')")
          let found = try database.firstValue("SELECT 1 FROM temp.seen WHERE term='xylophone'") != nil
          try database.execute("DROP TABLE temp.seen")
          return found
        }
      }
    }
    #expect(try containsDeletedWord())
    #expect(try test.store.read { try $0.search(ranked: "xylophone", in: test.notes) }.total == 0)
    #expect(try test.bytesOnDisk().range(of: Data("xylophone".utf8)) == nil)
    try test.store.dropIndexes(test.notes)
    try test.store.index(test.notes, .words())
    #expect(try !containsDeletedWord())
  }

  @Test func rejectsIndexOfAnotherStore() throws {
    let test = try indexed()
    let other = try indexed()
    try other.store.close()
    try test.store.close()
    let raw = try test.raw()
    try raw.execute("ATTACH '\(other.url.path)' AS old")
    try raw.execute("DELETE FROM coffer_x_index_page")
    try raw.execute("INSERT INTO coffer_x_index_page SELECT * FROM old.coffer_x_index_page")
    try raw.close()
    let store = try test.reopened()
    #expect(try !store.verify().isSound)
    try expectSame(store, test.notes)
    #expect(try store.updateIndexes())
    #expect(try store.verify().isSound)
  }

  // MARK: Access

  @Test func openIndexesShareOneCache() throws {
    let test = try indexed()
    try test.store.index(test.notes, .titles)
    let caches = test.store.engine.session.companion(IndexMemory.self)
    _ = try test.store.read { try $0.search(ranked: "sealed", in: test.notes) }
    let alone = caches.share
    _ = try test.store.read { scope in try scope.headers(in: test.notes) }
    #expect(caches.share < alone)
    try test.store.read { scope in
      _ = try scope.headers(in: test.notes)
      let open = scope.transaction.connection.openIndexes.files.values
      #expect(open.count == 2 && open.allSatisfy { $0.cacheBytes == caches.share })
    }
    try test.store.close()
    #expect(caches.share == OpenOptions().indexCacheBytes)
  }

  @Test func searchesReadOnlyAndBusyStores() throws {
    let test = try indexed()
    try test.store.write { scope in
      for _ in 0..<20 { _ = try scope.insert(Document(text: "sealed newcomer"), into: test.notes, at: .top) }
    }
    var options = OpenOptions.testing
    options.isReadOnly = true
    let before = try test.raw().query("SELECT sealed FROM coffer_x_index").rows
    try expectSame(try test.reopened(.published("primary"), options), test.notes)
    #expect(throws: Interruption()) {
      try test.store.write { scope in
        #expect(try scope.search(ranked: "newcomer", in: test.notes).total == 20)
        _ = try scope.insert(Document(text: "newcomer, not committed"), into: test.notes, at: .top)
        #expect(try scope.search(ranked: "newcomer", in: test.notes).total == 21)
        throw Interruption()
      }
    }
    #expect(try test.raw().query("SELECT sealed FROM coffer_x_index").rows.map(\.values) == before.map(\.values))
    // The insertion was rolled back in the store and in memory.
    try test.store.write { scope throws in #expect(try scope.search(ranked: "newcomer", in: test.notes).total == 20) }
    #expect(try test.store.read { try $0.search(ranked: "newcomer", in: test.notes) }.total == 20)
    #expect(try test.raw().query("SELECT sealed FROM coffer_x_index").rows.map(\.values) == before.map(\.values))
    options = .testing
    options.indexMemoryBytes = 8192
    let small = try test.reopened(.published("primary"), options)
    expect(.indexBehind) {
      try small.write { scope in
        _ = try scope.insert(Document(text: "newcomer"), into: test.notes, at: .top)
        _ = try scope.search(ranked: "newcomer", in: test.notes)
      }
    }
  }

  // MARK: Substrings

  @Test(
    .slow,
    arguments: CaseSample.one(
      in: 2,
      of: [[], .case, [.case, .diacritics, .composition], .composition, .diacritics, [.case, .diacritics]]
        as [SearchPattern.Differences]))
  func textSearchMatchesUnindexedSearch(_ differences: SearchPattern.Differences) throws {
    let test = try TestStore()
    var random = Pseudorandom(seed: 27)
    // Letters whose folding, composition or order differs from their bytes.
    let letters = [
      "a", "A", "b", "ß", "s", "S", "ẞ", "é", "e\u{301}", "e", "ά", "α", "ᾳ", "α\u{345}", "αι", "Ι", "ι", "İ", "i", "ı",
      "ﬁ", "f", "한", "\u{1112}\u{1161}\u{11AB}", "\u{302E}", "o\u{323}\u{302}", "ộ", "\0", " ", "\"", "写", "Ⴀ", "ꭰ",
      "Ꭰ",
      "🙂", "\u{1D15E}", "k", "K",
    ]
    func text(_ count: Int) -> String { (0..<count).map { _ in letters[random.number(below: letters.count)] }.joined() }
    try test.store.write { scope in
      for number in 0..<400 {
        if number % 5 == 0 {
          _ = try scope.insert(["one": text(8), "two": text(9)], into: test.notes, title: text(3))
        } else {
          _ = try scope.insert(Document(title: text(4), text: text(30)), into: test.notes)
        }
      }
    }
    var texts: [String] = []
    try test.store.read { scope in
      try scope.forEach(in: test.notes) { opened in
        guard opened.header.id.rawValue % (CaseSample.isWhole ? 6 : 12) == 1 else { return }
        let scalars = Array(opened.text.unicodeScalars)
        let start = random.number(below: max(1, scalars.count - 6))
        var part = String.UnicodeScalarView()
        part.append(contentsOf: scalars[start..<min(scalars.count, start + 2 + random.number(below: 4))])
        texts.append(String(part))
        texts.append(String(part).uppercased())
      }
    }
    func found() throws -> [[DocumentID]] {
      try texts.compactMap { text in
        guard let pattern = try? SearchPattern.text(text, ignoring: differences) else { return nil }
        return try test.store.read { try $0.search(for: pattern, in: test.notes) }.map(\.header.id)
      }
    }
    let wanted = try found()
    try test.store.index(test.notes, .substrings)
    #expect(try found() == wanted)
    let used = try test.store.read { scope in
      try texts.filter { text in
        guard let pattern = try? SearchPattern.text(text, ignoring: differences) else { return false }
        let record = try #require(try scope.transaction.collection(named: "notes"))
        return try SubstringSearch(scope.transaction).candidates(for: pattern, in: record, fields: .all, also: [])
          != nil
      }.count
    }
    #expect(used > 20)
    try test.store.write { scope in
      for id in try scope.ids(in: test.notes, sortedBy: .id).prefix(40) {
        _ = try scope.update(id) { $0.text = text(20) }
      }
      try scope.move(400, to: .top)
    }
    let indexed = try found()
    try test.store.dropIndexes(test.notes)
    #expect(try found() == indexed)
  }
}
