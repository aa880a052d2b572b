import Coffer
import CofferFoundation
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Beginning to sync through a folder, and removing devices.
struct FolderSyncTests {
  private struct Refusal: Error {}

  private let place: Workplace
  private let store: DocumentStore
  private let folder: SyncFolder
  private let options: OpenOptions

  init() throws {
    place = try Workplace()
    var options = OpenOptions.testing
    options.creation.isTest = true
    self.options = options
    folder = SyncFolder(at: place.file("carried"))
    store = try DocumentStore.create(
      at: place.file("laptop.coffer"), keys: [.published("primary")], creation: options.creation, options: options)
  }

  private func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? [] }

  private var refused: StoreKey { .passphrase { throw Refusal() } }

  private func join() throws -> FolderSyncReport {
    try DocumentStore.join(
      folder, at: place.file("phone.coffer"), key: .published("primary"), keys: [.published("primary")], label: "phone",
      options: options)
  }

  @Test func beginsOnlyWithKeys() throws {
    expect(.keyNeeded) { try store.startSyncing(by: folder, keys: [], label: "laptop") }
    #expect(throws: (any Error).self) { try store.startSyncing(by: folder, keys: [refused], label: "laptop") }
    expect(.invalidArgument) { try store.syncStatus(of: folder) }
    #expect(names().isEmpty)
    try store.startSyncing(by: folder, keys: [.published("primary")], label: "laptop")
    #expect(try store.syncStatus(of: folder).devices.map(\.label) == ["laptop"])
  }

  /// Cancels at each point at which the work asks.
  @Test func canceledBeginningLeavesStoreAlone() throws {
    var errors = 0
    for number in 0... {
      let questions = Atomic(0)
      do {
        try Cancellation.polling({ questions.add(1, ordering: .relaxed).oldValue >= number }) {
          _ = try store.startSyncing(by: folder, keys: [.published("primary")], label: "laptop")
        }
        break
      } catch {
        let code = (error as? StoreError)?.code
        #expect(code == .cancelled, "\(error)")
        guard code == .cancelled else { return }
        errors += 1
      }
    }
    #expect(errors > 0)
    #expect(try store.syncStatus(of: folder).devices.map(\.label) == ["laptop"])
  }

  @Test func removesOnlyWithKeys() throws {
    try store.startSyncing(by: folder, keys: [.published("primary")], label: "laptop")
    _ = try store.exchange(with: folder)
    _ = try join()
    _ = try store.exchange(with: folder)
    let device = try #require(try store.syncStatus(of: folder).devices.last)
    expect(.keyNeeded) { try store.removeDevice(device.id, from: folder, keys: []) }
    #expect(throws: (any Error).self) { try store.removeDevice(device.id, from: folder, keys: [refused]) }
    #expect(try store.syncStatus(of: folder).devices.map(\.isRemoved) == [false, false])
    let first = try store.removeDevice(device.id, from: folder, keys: [.published("primary")]).invitation
    #expect(try store.syncStatus(of: folder).devices.map(\.isRemoved) == [false, true])
    expect(.keyNeeded) { try store.makeInvitation(to: folder, keys: []) }
    let second = try store.makeInvitation(to: folder, keys: [.published("next")])
    #expect(second.url == first.url && second.pin != first.pin)
    expect(.cannotUnlock) { try DocumentStore.open(at: second.url, key: .published("primary"), options: options) }
  }

  @Test func invitesOnlyToFolderWithFiles() throws {
    expect(.invalidArgument) { try store.makeInvitation(to: folder, keys: [.published("next")]) }
    let first = try store.startSyncing(by: folder, keys: [.published("primary")], label: "laptop")
    _ = try store.exchange(with: folder)
    try FileManager.default.removeItem(at: first.url)
    expect(.noSuchFile) { try join() }
    #expect(try store.makeInvitation(to: folder, keys: [.published("primary")]).url == first.url)
    _ = try join()
    try FileManager.default.removeItem(at: folder.url)
    expect(.noSuchFile) { try store.makeInvitation(to: folder, keys: [.published("primary")]) }
  }

  @Test func acceptingEmptyFolderReplacesLostSnapshot() throws {
    let invitation = try store.startSyncing(by: folder, keys: [.published("primary")], label: "laptop")
    let subfolder = invitation.url.deletingLastPathComponent()
    func files() throws -> Set<String> {
      Set(try FileManager.default.contentsOfDirectory(atPath: subfolder.path))
    }
    let before = try files()
    _ = try store.exchange(with: folder)
    let snapshot = try #require(try files().subtracting(before).first)
    try store.write { tx in _ = try tx.insert(Document(text: "second"), into: "notes") }
    _ = try store.exchange(with: folder)
    try FileManager.default.removeItem(at: subfolder.appending(path: snapshot))
    #expect(try store.exchange(with: folder).publishedBytes == 0)
    expect(.noSuchFile) { try join() }
    #expect(try store.exchange(with: folder, acceptingEmptyFolder: true).publishedBytes > 0)
    _ = try join()
    #expect(try store.exchange(with: folder).problems.isEmpty)
  }

  /// Changes one document on two devices, and publishes the other device's text.
  private func changeOnBoth() throws -> DocumentID {
    try store.startSyncing(by: folder, keys: [.published("primary")], label: "laptop")
    let id = try store.write { try $0.insert(Document(text: "first"), into: "notes") }
    _ = try store.exchange(with: folder)
    _ = try join()
    let phone = try DocumentStore.open(at: place.file("phone.coffer"), key: .published("primary"), options: options)
    for (device, text) in [(store, "of laptop"), (phone, "of phone")] {
      try device.write { tx in _ = try tx.update(id) { $0.text = text } }
    }
    _ = try phone.exchange(with: folder)
    try phone.close()
    return id
  }

  @Test func sequenceRepeatsExchangeOfLockedStore() async throws {
    let id = try changeOnBoth()
    let attempts = Mutex(0)
    let policy = MergePolicy.custom { _ in
      attempts.withLock { $0 += 1 }
      if attempts.withLock({ $0 }) == 1 { throw StoreError(.locked, "the store is locked") }
      return .mine
    }
    var iterator = store.sync(with: folder, policy: policy, every: .milliseconds(1)).makeAsyncIterator()
    let report = try await iterator.next()
    #expect(report?.taken.isEmpty == false)
    #expect(attempts.withLock { $0 } > 1)
    #expect(try await store.read { try $0.text(of: id) } == "of laptop")
  }

  @Test func rekeySaysThatFolderKeepsItsKeys() throws {
    #expect(try !store.rekey(to: [.published("next")]).isSyncing)
    try store.startSyncing(by: folder, keys: [.published("primary")], label: "laptop")
    #expect(try store.rekey(to: [.published("primary")]).isSyncing)
  }
}
