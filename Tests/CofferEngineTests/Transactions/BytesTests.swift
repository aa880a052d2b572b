import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Plaintext and ciphertext in the bytes on disk.
struct BytesTests {
  // Words and titles mix Latin and other scripts, and don't share slices.
  private let words = (0..<400).map { "word no. \($0) — слово \($0 * 7) 言葉 \($0 * 13)" }
  private let titles = (0..<40).map { "title \($0) ← заглавие \($0 * 17) 題名 \($0 * 19)" }

  private func fill(_ test: TestStore) throws {
    try test.store.write { writer in
      for (number, title) in titles.enumerated() {
        let text = words[number * 10..<number * 10 + 10].joined(separator: "\n")
        try writer.insert(
          Document(
            title: title, text: text, key: DocumentKey("external key \(number) of this document"),
            attributes: ["attribute name": .string("attribute value number \(number)")]),
          into: DocumentCollection("a collection whose name is sealed \(number % 3)"))
      }
    }
  }

  private func secrets(clearTitles: Bool) -> [String] {
    words + (clearTitles ? [] : titles)
      + (0..<40).flatMap { ["external key \($0) of this document", "attribute value number \($0)"] }
      + ["attribute name", "a collection whose name is sealed"]
  }

  /// Returns the number of 16-byte slices of the texts, in each encoding, that occur in `data`.
  private func slicesFound(of texts: [String], in data: Data) -> Int {
    var slices: Set<[UInt8]> = []
    for text in texts {
      for encoding in [String.Encoding.utf8, .utf16LittleEndian, .utf16BigEndian] {
        let bytes = Array(text.data(using: encoding)!)
        guard bytes.count >= 16 else { continue }
        for start in stride(from: 0, through: bytes.count - 16, by: 1) {
          slices.insert(Array(bytes[start..<start + 16]))
        }
      }
    }
    // The first four bytes exclude nearly all offsets.
    var beginnings: Set<UInt32> = []
    for slice in slices { beginnings.insert(Self.number(slice, 0)) }
    let bytes = Array(data)
    guard bytes.count >= 16 else { return 0 }
    var found = 0
    for start in 0...bytes.count - 16
    where beginnings.contains(Self.number(bytes, start)) && slices.contains(Array(bytes[start..<start + 16])) {
      found += 1
    }
    return found
  }

  private static func number(_ bytes: [UInt8], _ at: Int) -> UInt32 {
    UInt32(bytes[at]) << 24 | UInt32(bytes[at + 1]) << 16 | UInt32(bytes[at + 2]) << 8 | UInt32(bytes[at + 3])
  }

  @Test func sliceSearchFindsKnownBytes() {
    #expect(slicesFound(of: ["sixteen bytes it is"], in: Data("…sixteen bytes it is…".utf8)) == 4)
    #expect(slicesFound(of: ["sixteen bytes it is"], in: "sixteen bytes".data(using: .utf16LittleEndian)!) > 0)
    #expect(slicesFound(of: ["sixteen bytes it is"], in: Data("sixteen bites it is".utf8)) == 0)
  }

  @Test(.slow, arguments: CreateOptions.Titles.allCases, CreateOptions.Journal.allCases)
  func encryptsValuesInFile(_ mode: CreateOptions.Titles, _ journal: CreateOptions.Journal) throws {
    let test = try TestStore {
      $0.titles = mode; $0.journal = journal
    }
    try fill(test)
    let hidden = secrets(clearTitles: mode == .clear)
    // The bytes include the write-ahead log.
    #expect(slicesFound(of: hidden, in: try test.bytesOnDisk()) == 0)
    try test.store.write { writer in
      for id in 1...20 { try writer.update(DocumentID(id)) { $0.text += " changed" } }
      for id in 21...25 { try writer.delete(DocumentID(id)) }
    }
    try test.store.rekey { _ in }
    try test.store.close()
    let data = try test.bytesOnDisk()
    #expect(slicesFound(of: hidden, in: data) == 0)
    #expect((slicesFound(of: titles, in: data) > 0) == (mode == .clear))
  }

  /// Searches for dates and stamps without their leading zeros.
  @Test(arguments: CreateOptions.Titles.allCases, CreateOptions.Journal.allCases)
  func encryptsDatesAndStamps(_ mode: CreateOptions.Titles, _ journal: CreateOptions.Journal) throws {
    let test = try TestStore {
      $0.titles = mode; $0.journal = journal
    }
    let dates: [Int64] = [1_234_567_890_123, 1_987_654_321_987, 0x0000_E677_89AB_CDEF, -0x0000_3877_89AB_CDEF]
    try test.store.write { writer in
      for date in dates {
        try writer.insert(
          Document(
            title: "t", text: "text", created: Timestamp(millisecondsSince1970: date),
            modified: Timestamp(millisecondsSince1970: date / 3)), into: test.notes)
      }
    }
    let stamps = try test.store.engine.reading { transaction throws(StoreError) in
      try (1...4).map { id throws(StoreError) in try transaction.storedDocument(DocumentID(id)).history.uid }
    }
    let numbers =
      stamps.flatMap { [$0.high, $0.low] } + dates.flatMap { [UInt64(bitPattern: $0), UInt64(bitPattern: $0 / 3)] }
    let data = try test.bytesOnDisk()
    for number in numbers {
      let bytes = Data(withUnsafeBytes(of: number.bigEndian) { Array($0.drop { $0 == 0 }) })
      #expect(bytes.count >= 5)
      #expect(data.range(of: bytes) == nil && data.range(of: Data(bytes.reversed())) == nil)
    }
    // Positions are unencrypted, so finding one shows that the search works.
    let place = try test.store.read { try $0.header(of: 2) }.position
    #expect(data.range(of: Data(place.bytes)) != nil)
  }

  /// These columns are unencrypted, to read order and families without a key. The generation of each row's last write
  /// reveals the order of writes.
  @Test(arguments: CreateOptions.Titles.allCases)
  func exposesOrderParentsAndGenerations(_ mode: CreateOptions.Titles) throws {
    let test = try TestStore { $0.titles = mode }
    for number in 1...3 {
      try test.store.write { writer in
        let parent = number == 3 ? DocumentID(1) : nil
        try writer.insert(Document(text: "text \(number)", parent: parent), into: test.notes, at: .top)
      }
    }
    try test.store.write { try $0.update(2) { $0.text = "changed" } }
    let raw = try test.raw()
    func column(_ sql: String) throws -> [SQLiteValue] { try raw.query(sql).rows.map { $0[0] } }
    #expect(try column("SELECT id FROM coffer_record ORDER BY pos") == [3, 2, 1].map { .integer($0) })
    #expect(try column("SELECT id FROM coffer_record WHERE parent = 1") == [.integer(3)])
    #expect(try column("SELECT id FROM coffer_record ORDER BY rev") == [1, 3, 2].map { .integer($0) })
  }

  @Test func encryptsValuesInJournal() throws {
    let test = try TestStore()
    try fill(test)
    try test.store.write { writer in
      for id in 1...40 { try writer.update(DocumentID(id)) { $0.text += " changed" } }
      let data = try test.bytesOnDisk()
      #expect(slicesFound(of: secrets(clearTitles: false), in: data) == 0)
      #expect(FileManager.default.fileExists(atPath: test.url.path + "-journal"))
    }
    try test.expectSound()
  }

  @Test func erasesReplacedAndDeletedCiphertexts() throws {
    let test = try TestStore { $0.titles = .clear }
    let long = String(repeating: "long enough to overflow its page ", count: 400)
    try test.store.write { writer in
      for number in 0..<6 {
        try writer.insert(
          Document(title: "a clear title that goes \(number)", text: "\(number) " + long), into: test.notes)
      }
    }
    func slices(_ id: Int) throws -> [Data] {
      let row = try test.raw().query(
        "SELECT ifnull(body, ct), head, body_nt FROM coffer_record LEFT JOIN coffer_body USING(id) WHERE id=?", id
      ).rows[0]
      return row.values.flatMap { value -> [Data] in
        guard case .blob(let bytes) = value else { return [] }
        return stride(from: 0, to: bytes.count - 32, by: 512).map { Data(bytes[$0..<$0 + 32]) } + [
          Data(bytes.suffix(32))
        ]
      }
    }
    func present(_ slices: [Data]) throws -> [Data] {
      let data = try test.bytesOnDisk()
      return slices.filter { data.range(of: $0) != nil }
    }
    // A slice that spans two pages isn't found.
    let (replaced, deleted, kept) = (try present(slices(2)), try present(slices(3)), try present(slices(4)))
    #expect(replaced.count > 20 && deleted.count > 20 && kept.count > 20)
    try test.store.write { writer in
      try writer.update(2) {
        $0.title = "other"
        $0.text = "short"
      }
      try writer.delete(3)
    }
    #expect(try present(replaced) == [])
    #expect(try present(deleted) == [])
    #expect(try present(kept) == kept)
    let data = try test.bytesOnDisk()
    #expect(data.range(of: Data("a clear title that goes 1".utf8)) == nil)
    #expect(data.range(of: Data("a clear title that goes 2".utf8)) == nil)
    #expect(data.range(of: Data("a clear title that goes 3".utf8)) != nil)
    try test.expectSound()
  }

  @Test func encryptsEqualTextsDifferently() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for _ in 0..<50 { try writer.insert(Document(title: "same", text: "same"), into: test.notes) }
    }
    let rows = try test.raw().query("SELECT body, head, body_nt FROM coffer_record").rows
    for column in 0..<3 { #expect(Set(rows.map { $0[column] }).count == 50) }
  }

  @Test func writesSoundSQLiteDatabase() throws {
    let test = try TestStore()
    try fill(test)
    let database = try test.raw()
    #expect(try database.query("PRAGMA integrity_check").rows[0][0] == "ok")
    #expect(try database.query("PRAGMA application_id").rows[0][0] == 0x434F_4652)
    #expect(try database.query("PRAGMA user_version").rows[0][0] == .integer(Int64(StoreFormat.version)))
    #expect(try database.query("PRAGMA page_size").rows[0][0] == .integer(Int64(StoreFormat.pageSize)))
    #expect(try database.query("PRAGMA journal_mode").rows[0][0] == "delete")
  }
}
