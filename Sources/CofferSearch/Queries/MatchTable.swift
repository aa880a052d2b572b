internal import CofferEngine
internal import CofferPatterns
internal import CofferRecords
internal import CofferSQLite

/// The virtual table `"NAME.match"(id, words, rank)`, in which queries find a collection's documents by words.
///
/// ```sql
/// SELECT title FROM "notes.match"('sealed store') m JOIN notes USING (id) ORDER BY m.rank
/// ```
final class MatchTable: VirtualTable {
  let columns = [VirtualColumn("id", "INTEGER"), VirtualColumn("words", "TEXT HIDDEN"), VirtualColumn("rank", "REAL")]
  let name: String
  let collection: UInt32
  private unowned let index: IndexFile
  private var transaction: StoreTransaction?
  private(set) var failure: StoreError?
  /// Whether a statement that reads this table was compiled.
  var wasPlanned = false

  init(_ collection: UInt32, _ name: String, _ index: IndexFile) {
    self.name = name
    self.collection = collection
    self.index = index
  }

  /// Sets the transaction, or `nil` between queries.
  func show(_ transaction: StoreTransaction?) {
    self.transaction = transaction
    failure = nil
  }

  func plan(for request: VirtualTableRequest) -> VirtualTablePlan {
    wasPlanned = true
    let words = request.conditions.first { $0.column == 1 && [.equal, .match].contains($0.comparison) }
    guard let words else { return VirtualTablePlan(number: 0, cost: 1e12, rowCount: 1_000_000) }
    var plan = VirtualTablePlan(number: 1, cost: 100, rowCount: 100)
    (plan.arguments, plan.exactArguments) = ([words.number], [words.number])
    let order = request.order.map(\.column)
    plan.isOrdered =
      !order.isEmpty && !request.order.contains(where: \.isDescending) && (order == [2] || order == [2, 0])
    return plan
  }

  func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows {
    do throws(StoreError) {
      guard let transaction else { throw StoreError.queryEnded }
      guard plan == 1 else {
        throw StoreError(
          .queryFailed, "the query failed: it names no words to look for",
          hint: "write FROM \"NAME.match\"('the words')")
      }
      guard case .text(let words) = values[0] else { return Rows([]) }
      let keepsDiacritics = index.declaration.collection(collection)?.keepsDiacritics == true
      let query = try WordQuery(words, WordScan(keepingDiacritics: keepsDiacritics))
      return Rows(try RankedRows(index, collection, transaction).best(query, limit: .max, after: nil).hits)
    } catch {
      failure = failure ?? error
      throw error
    }
  }

  private final class Rows: VirtualRows {
    private let hits: [RankedRows.Hit]
    private var place = -1

    init(_ hits: [RankedRows.Hit]) {
      self.hits = hits
    }

    var rowID: Int64 { hits[place].id }

    func next() -> Bool {
      place += 1
      return place < hits.count
    }

    func give(_ column: Int, to result: VirtualResult) {
      switch column {
      case 0: result.give(hits[place].id)
      case 2: result.give(hits[place].rank)
      default: break
      }
    }
  }
}
