package import Coffer
package import CofferEngine
package import CofferFoundation
internal import CofferRecords
internal import CofferSQLite
package import CofferSync
internal import CofferTestSupport

/// A device with its store and its view of the folder.
package final class SimulatedDevice {
  package let name: String
  package let url: URL
  package var store: DocumentStore
  package let folder: SimulatedFolder
  package let options: OpenOptions
  /// By how many seconds the device's clock is ahead.
  package var clockError: Int64 = 0
  private let key: StoreKey

  /// Makes the store that others join.
  package init(first name: String, in place: URL, key: StoreKey, options: OpenOptions) throws {
    (self.name, self.options, self.key) = (name, options, key)
    url = place.appending(path: "\(name).coffer")
    folder = SimulatedFolder(name)
    store = try DocumentStore.create(at: url, keys: [key], creation: options.creation, options: options)
    _ = try SyncSetup.begin(store.engine, label: name)
  }

  /// Makes a store that joins by what its folder has.
  package init(
    joining name: String, folder: SimulatedFolder, _ invitation: SyncSetup.Invitation, in place: URL, key: StoreKey,
    options: OpenOptions
  ) throws {
    (self.name, self.options, self.key, self.folder) = (name, options, key, folder)
    url = place.appending(path: "\(name).coffer")
    _ = try SyncSetup.join(
      folder, invitation, at: url.path, slots: NewSlot.slots(for: [key], []), label: name, options: options)
    store = try DocumentStore.open(at: url, key: key, options: options)
  }

  /// A device whose disk is a copy of another device's.
  package init(cloneOf other: SimulatedDevice, name: String, in place: URL) throws {
    (self.name, options, key) = (name, other.options, other.key)
    url = place.appending(path: "\(name).coffer")
    folder = SimulatedFolder(name)
    folder.contents = other.folder.contents
    try FileManager.default.copyItem(at: other.url, to: url)
    store = try DocumentStore.open(at: url, key: key, options: options)
  }

  /// What a device needs to know to join.
  package func invitation() throws -> SyncSetup.Invitation {
    try store.engine.reading { transaction throws(StoreError) in
      try SyncSetup.Invitation(
        family: transaction.keys.session.keyring.family, transaction.syncMemory()!, creation: options.creation)
    }
  }

  package func session() throws -> SyncSession { try SyncSession(store.engine, with: folder) }

  @discardableResult
  package func sync(_ policy: MergePolicy = .both) throws -> FolderSyncReport {
    try SyncSession(store.engine, with: folder, policy: policy).run()
  }

  /// The file of the store at this moment.
  package func backup() throws -> Data { try Data(contentsOf: url) }

  /// Puts an older file back byte by byte, or like `restore`.
  package func putBack(_ backup: Data, asRestored isMarked: Bool) throws {
    try store.close()
    try backup.write(to: url)
    if isMarked {
      let database = try Database(url.path, mode: .readWrite)
      try database.execute(SQL.markRestored)
      try database.close()
    }
    store = try DocumentStore.open(at: url, key: key, options: options)
  }
}
