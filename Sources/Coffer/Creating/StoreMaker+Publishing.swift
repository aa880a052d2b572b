internal import CofferRecords
internal import CofferSQLite

extension StoreMaker {
  /// Gives the finished file its name, unless something took it meanwhile, and makes the name durable.
  func publish(_ draft: Draft) throws(StoreError) {
    do throws(StoreError) {
      try setJournal(draft.file.temporary)
      try draft.file.publish()
    } catch {
      draft.file.discard()
      throw error
    }
  }

  /// Last of all: what is written in bulk before goes straight into the file, not through a log.
  private func setJournal(_ temporary: String) throws(StoreError) {
    guard creation.journal == .writeAheadLog else { return }
    do throws(SQLiteError) {
      let database = try Database(
        temporary, configuration: .init(busyTimeout: wait, isHardened: true, enforcesForeignKeys: false))
      _ = try database.textPragma("journal_mode = WAL")
      try database.close()
    } catch {
      throw StoreError(error, path: path)
    }
  }
}
