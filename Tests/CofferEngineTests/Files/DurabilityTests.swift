import Coffer
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

struct DurabilityTests {
  @Test func syncsFolderAndFileSystem() {
    let path = FileManager.default.temporaryDirectory.appending(path: "anything").path
    #expect(Durability.syncDirectory(beside: path) == nil)
    #expect(Durability.syncDirectory(beside: "without a folder") == nil)
    #expect(Durability.syncFileSystem(in: FileManager.default.temporaryDirectory.path) == nil)
  }

  /// fsync(2) of a folder in /proc fails with EINVAL.
  @Test func ignoresUnsupportedFolderSync() {
    #expect(Durability.syncDirectory(beside: "/proc/self/anything") == nil)
  }

  @Test func reportsMissingFolder() {
    #expect(Durability.syncDirectory(beside: "/no/such/folder/anything") == ENOENT)
    #expect(Durability.syncFileSystem(in: "/no/such/folder") == ENOENT)
  }
}
