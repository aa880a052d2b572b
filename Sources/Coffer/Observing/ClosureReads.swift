internal import CofferEngine
internal import CofferRecords

/// The reads of an app's closure.
struct ClosureReads<Result: Sendable>: ObservedReads {
  private let body: @Sendable (inout ReadTransaction) throws -> Result
  /// The last result, or an empty array if results can't be compared.
  private var last: [Result] = []
  /// The documents and collections that the last reads depended on.
  private var notes = ReadNotes()
  private(set) var generation: UInt64?

  init(_ body: @escaping @Sendable (inout ReadTransaction) throws -> Result) {
    self.body = body
  }

  var mayDiffer: @Sendable (StoreChange) -> Bool {
    { [notes, generation] in $0.generation > generation ?? 0 && notes.mayDiffer(after: $0) }
  }

  mutating func next(_ transaction: StoreTransaction, heard: StoreChange?, limit: Int) throws -> Result? {
    let notes = ReadNotes()
    transaction.notes = notes
    var scope = ReadTransaction(transaction)
    let result = try Self.storeErrors { try body(&scope) }
    (self.notes, generation) = (notes, transaction.state.generation)
    guard let equatable = Result.self as? any Equatable.Type else { return result }
    if let last = last.first, Self.areEqual(last, result, as: equatable) { return nil }
    last = [result]
    return result
  }

  /// Compares results, whose type is known here as a type of values that can be compared.
  private static func areEqual<Value: Equatable>(_ one: Result, _ other: Result, as type: Value.Type) -> Bool {
    (one as! Value) == (other as! Value)
  }

  /// Runs an app's reads, and throws all errors except cancellation as store errors.
  private static func storeErrors<R>(_ reads: () throws -> R) throws -> R {
    do {
      return try reads()
    } catch let error as any StoreErrorConvertible {
      throw error.storeError
    } catch let error where !(error is StoreError || error is CancellationError) {
      throw StoreError(
        .queryFailed, "the closure of an observation threw \(type(of: error))",
        hint: "to observe errors of your own, return a Result from the closure")
    }
  }
}
