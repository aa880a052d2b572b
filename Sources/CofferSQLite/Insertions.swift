/// Whether one run of a statement inserts a row whose id is that of the last insertion before it.
///
/// SQLite's last inserted id stays what it was if nothing is inserted. When it has not changed, only this tells whether
/// the run has inserted: the update hook shows it every insertion, those of triggers too.
final class Insertions {
  private let lastBefore: Int64
  private var isRepeated = false

  init(lastBefore: Int64) { self.lastBefore = lastBefore }

  func note(_ id: Int64) {
    if id == lastBefore { isRepeated = true }
  }

  /// The id of the row inserted last, given SQLite's answer after the run.
  func insertedID(lastNow: Int64) -> Int64? { lastNow != lastBefore || isRepeated ? lastNow : nil }
}
