import CofferDocuments
import CofferSQLite
import Testing

@testable import CofferRecords
@testable import CofferSealing

/// Both ends of the limits that a reader applies to the columns of any file. A row with the greatest value is read, and
/// one more is refused.
struct RowLimitTests {
  private let database: StoreDatabase

  init() throws {
    database = StoreDatabase(try Database(":memory:", mode: .create))
  }

  /// The columns of a record, of which a test replaces one.
  private static let record = [
    "1", "1", "1", "1", "x'80'", "NULL", "0", "NULL", "NULL", "zeroblob(\(XAESKey.overhead))",
    "zeroblob(\(StoreFormat.bodyTagCount))", "NULL",
  ]

  private func readsRecord(with value: String, in column: Int) throws -> Bool {
    var columns = Self.record
    columns[column] = value
    let statement = try database.statement("SELECT \(columns.joined(separator: ","))")
    defer { statement.reset() }
    try #require(try statement.step())
    do throws(StoreError) {
      _ = try RecordRow(statement.columns(), within: .none)
      return true
    } catch {
      #expect(error.code == .damaged)
      return false
    }
  }

  private func readsCollection(number: Int64 = 1, sealedCount: Int = 256) throws -> Bool {
    let rows = try database.rows("SELECT \(number), 1, zeroblob(\(sealedCount))")
    do throws(StoreError) {
      _ = try CollectionRow(columns: rows[0].values, generation: 1)
      return true
    } catch {
      #expect(error.code == .damaged)
      return false
    }
  }

  // MARK: Records and collections

  @Test func limitsPosition() throws {
    for (count, isRead) in [(0, false), (1, true), (255, true), (256, false)] {
      #expect(try readsRecord(with: "zeroblob(\(count))", in: 4) == isRead, "\(count)")
      #expect((DocumentPosition([UInt8](repeating: 1, count: count)) != nil) == isRead, "\(count)")
    }
  }

  @Test(arguments: [1, 2]) func limitsNumberOfCollectionAndEpoch(_ column: Int) throws {
    for (number, isRead) in [(0, false), (1, true), (Int64(Int32.max), true), (1 << 31, false), (1 << 32 + 1, false)] {
      #expect(try readsRecord(with: "\(number)", in: column) == isRead, "\(number)")
      #expect(try readsCollection(number: number) == isRead, "\(number)")
    }
  }

  @Test func limitsHead() throws {
    #expect(try readsRecord(with: "zeroblob(\(StoreFormat.maximumHead))", in: 9))
    #expect(try !readsRecord(with: "zeroblob(\(StoreFormat.maximumHead + 1))", in: 9))
  }

  @Test func limitsBodyInRecord() throws {
    #expect(try readsRecord(with: "zeroblob(2048)", in: 11))
    #expect(try !readsRecord(with: "zeroblob(2049)", in: 11))
  }

  @Test func limitsSealedCollection() throws {
    #expect(try readsCollection(sealedCount: 192 << 10))
    #expect(try !readsCollection(sealedCount: 192 << 10 + 1))
  }

  @Test func limitsSealedAttachment() throws {
    func isRead(_ count: Int) throws -> Bool {
      let rows = try database.rows("SELECT 1, 1, 1, zeroblob(\(count))")
      do throws(StoreError) {
        _ = try AttachmentRow(rows[0], within: .none, below: 2)
        return true
      } catch {
        #expect(error.code == .damaged)
        return false
      }
    }
    #expect(try isRead(192 << 10))
    #expect(try !isRead(192 << 10 + 1))
  }

  // MARK: Header

  /// The root key's number and the phase.
  @Test(arguments: [6, 7]) func limitsCountersOfHeader(_ column: Int) throws {
    func header(_ counter: Int64) throws(StoreError) -> StoreHeader {
      var columns: [SQLiteValue] = [
        .integer(3), .blob([UInt8](repeating: 1, count: 16)), .integer(0), .integer(0), .integer(0), .integer(0),
        .integer(1), .integer(1), .blob([UInt8](repeating: 2, count: 32)),
        .blob([UInt8](repeating: 3, count: Keyring.byteCount(ofEpochs: 1))), .blob([UInt8](repeating: 4, count: 32)),
      ]
      columns[column] = .integer(counter)
      return try StoreHeader(columns: columns)
    }
    let last = try header(1 << 62)
    #expect(column == 6 ? last.rootGeneration == 1 << 62 : last.phase == 1 << 62)
    for counter in [0, 1 << 62 + 1, .max] as [Int64] {
      #expect(throws: StoreError(.damaged, "")) { try header(counter) }
    }
  }

  // MARK: Replicas

  /// The largest replicas that can be sealed are read, and bytes beyond the limit aren't decrypted.
  @Test func limitsSealedReplicas() throws {
    let root = try RootKey.random(storeID: [UInt8](repeating: 1, count: 16), generation: 1)
    let last = UInt64(StoreFormat.maximumGeneration)
    let marks = (0..<UInt64(Replica.maximumMarks)).map { place in
      // The first distance is the longest that leaves room for the others.
      Replica.Mark(counter: last - 31 * (1 << 42) + place * (1 << 42), mark: .max)
    }
    var replicas = Replicas(own: Replica(identity: UniqueID(high: 1, low: 0), counter: last, range: 0, rose: last))
    for number in 0..<Replicas.maximumCount {
      let replica = Replica(
        identity: UniqueID(high: 1, low: UInt64(number)), counter: last, range: 8191, rose: last, marks: marks)
      if number == 0 { replicas[0] = replica } else { _ = try replicas.add(replica) }
    }
    let sealed = try replicas.seal(under: root)
    #expect((2 << 20...StoreFormat.maximumSealedReplicas).contains(sealed.sealed.count))
    try database.execute("CREATE TABLE coffer_replica(one INTEGER PRIMARY KEY, restored INTEGER, sealed BLOB)")
    try database.execute(SQL.insertReplicas, [UInt8]())
    var state = StoreState(headerMAC: [UInt8](repeating: 0, count: 32), replicas: sealed.digest)
    state.generation = last

    func read(_ bytes: [UInt8]) throws -> Replicas {
      try database.execute(SQL.updateReplicas, bytes)
      let table = ReplicaTable(database, root)
      table.follow(state)
      return try table.current()
    }
    #expect(try read(sealed.sealed) == replicas)
    for (count, reason) in [(4 << 20, "the state names"), (4 << 20 + 1, "longer than the format allows")] {
      let error = try #require(throws: StoreError.self) { try read([UInt8](repeating: 7, count: count)) }
      #expect(error.code == .damaged && error.message.contains(reason), "\(error)")
    }
  }
}
