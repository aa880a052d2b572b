import Foundation
import Testing

@testable import Coffer
@testable import CofferRecords

/// Key files that an app writes; that their names are waited for is tried with keygen, in another process.
struct KeyLineWritingTests {
  @Test func writtenKeyIsItsOwnersAlone() throws {
    let place = try Workplace()
    let file = place.file("my.key")
    let key = try KeyLine.generate(.key)
    try key.write(toNewFile: file.path)
    #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
    let bytes = try [UInt8](Data(contentsOf: file))
    #expect(bytes.dropLast().elementsEqual(try key.line().withUnsafeBytes { Array($0) }) && bytes.last == 0x0A)
    #expect(try KeyLine.load(path: file.path).kind == .key)
  }

  @Test func existingFileIsNotOverwritten() throws {
    let place = try Workplace()
    let file = place.file("my.key")
    try Data("mine".utf8).write(to: file)
    expect(.alreadyExists) { try KeyLine.generate(.key).write(toNewFile: file.path) }
    #expect(try Data(contentsOf: file) == Data("mine".utf8))
  }

  @Test func folderThatIsMissingIsNamed() throws {
    let place = try Workplace()
    let path = place.file("none").appending(path: "my.key").path
    let key = try KeyLine.generate(.key)
    do throws(StoreError) {
      try key.write(toNewFile: path)
      Issue.record("written nowhere")
    } catch {
      #expect(error.code == .ioFailure && error.message.contains(path) && error.hint != nil)
    }
  }
}
