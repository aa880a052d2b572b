internal import CofferRecords
internal import CofferSealing

/// The sum of the rows that scans have visited, to compare them with the state's set hash.
package final class SetProof {
  private var set = SetHash()
  private var count: UInt64 = 0

  package init() {}

  func add(_ row: RecordRow, _ opener: RecordOpener) throws(StoreError) {
    let element = try opener.element(of: row)
    try translatingErrors { () throws(SealingError) in try opener.keys.summer.add(element, to: &set) }
    count += 1
  }

  func add(_ sum: SetHash, count: Int) {
    set.add(sum)
    self.count += UInt64(count)
  }

  /// Requires the visited rows and the transaction's collections, deletions and attachments to match the written set.
  ///
  /// - Throws: `setMismatch`.
  package func requireWhole(_ transaction: StoreTransaction) throws(StoreError) {
    var sum = try transaction.sumWithoutDocuments()
    sum.set.add(set)
    sum.count = Int(count)
    guard transaction.isWhole(sum) else { throw .setMismatch }
  }
}
