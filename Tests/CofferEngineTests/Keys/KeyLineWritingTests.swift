import Coffer
import CofferEngine
import CofferRecords
import CofferSealing
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Key files that an app writes. Syncing their names is tested with keygen, in another process.
struct KeyLineWritingTests {
  @Test func restrictsKeyFileToOwner() throws {
    let place = try Workplace()
    let file = place.file("my.key")
    let key = try KeyLine.generate(.key)
    try key.write(toNewFile: file.path)
    #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
    let bytes = try [UInt8](Data(contentsOf: file))
    #expect(bytes.dropLast().elementsEqual(try key.line().withUnsafeBytes { Array($0) }) && bytes.last == 0x0A)
    #expect(try KeyLine.load(path: file.path).kind == .key)
  }

  @Test func generatedKeyCreatesAndOpensStore() throws {
    let place = try Workplace()
    let file = place.file("my.key")
    let key = try StoreKey.generate(at: file)
    #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
    #expect(try KeyLine.load(path: file.path).kind == .key)
    try DocumentStore.create(at: place.file("my.coffer"), keys: [key]).close()
    try DocumentStore.open(at: place.file("my.coffer"), key: .keyFile(file)).close()
    let before = try Data(contentsOf: file)
    expect(.alreadyExists) { try StoreKey.generate(at: file) }
    #expect(try Data(contentsOf: file) == before)
  }

  @Test func derivesRecipientFromIdentity() throws {
    let recipient = try Recipient(identity: PublishedKeys.url("identity"))
    #expect(try recipient == PublishedKeys.recipient && recipient.description == recipient.line)
    #expect(try Recipient(identity: PublishedKeys.folder.appending(path: "recipient.txt")) == recipient)
    expect(.keyFileInvalid) { try Recipient(identity: PublishedKeys.url("primary")) }
    expect(.keyFileInvalid) { try Recipient(identity: PublishedKeys.url("absent")) }
  }

  @Test func keepsExistingFile() throws {
    let place = try Workplace()
    let file = place.file("my.key")
    try Data("mine".utf8).write(to: file)
    expect(.alreadyExists) { try KeyLine.generate(.key).write(toNewFile: file.path) }
    #expect(try Data(contentsOf: file) == Data("mine".utf8))
  }

  @Test func reportsMissingFolder() throws {
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
