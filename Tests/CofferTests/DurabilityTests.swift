import Foundation
import Testing

@testable import Coffer

struct DurabilityTests {
  @Test func namesInAFolderAreConfirmed() {
    let path = FileManager.default.temporaryDirectory.appending(path: "anything").path
    #expect(Durability.ofNames(beside: path) == nil)
    #expect(Durability.ofNames(beside: "without a folder") == nil)
    #expect(Durability.ofEverything(in: FileManager.default.temporaryDirectory.path) == nil)
  }

  /// fsync(2) of a folder of /proc is EINVAL.
  @Test func folderThatCanNotBeSynchronisedIsNoFailure() {
    #expect(Durability.ofNames(beside: "/proc/self/anything") == nil)
  }

  @Test func folderThatIsNotThereIsAFailure() {
    #expect(Durability.ofNames(beside: "/no/such/folder/anything") == ENOENT)
    #expect(Durability.ofEverything(in: "/no/such/folder") == ENOENT)
  }
}
