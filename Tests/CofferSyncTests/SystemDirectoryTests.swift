import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport
@testable import CofferSync

/// The folder of the file system that a carrier copies.
struct SystemDirectoryTests {
  private let place: Workplace
  private let directory: SystemDirectory

  init() throws {
    place = try Workplace()
    directory = SystemDirectory(place.file("carried").path)
    try directory.make()
  }

  /// A carrier that makes links can't have files of another folder removed.
  @Test func subfolderIsNoLink() throws {
    let name = String(repeating: "a", count: 40)
    let other = place.file("other")
    try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
    for file in [name, ".\(name).new"] { try Data("x".utf8).write(to: other.appending(path: file)) }
    try FileManager.default.createSymbolicLink(
      at: place.file("carried").appending(path: "device"), withDestinationURL: other)
    #expect(try directory.subfolders() == [])
    #expect(try directory.files(in: "device") == [])
    #expect(try directory.open(name, in: "device") == nil)
    try directory.remove(name, in: "device")
    try directory.removeUnfinished(except: "none", in: "device")
    expect(.ioFailure) { try directory.create(in: "device") }
    expect(.ioFailure) { try directory.makeSubfolder("device") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path).count == 2)
  }

  /// A carrier can set dates of any year, whose nanoseconds since 1970 are too many for an integer.
  @Test func findsInvitationOfAnyYear() throws {
    var newest = ""
    for (letter, seconds) in [("a", 0.0), ("b", 14_000_000_000.0), ("c", 1_000_000_000.0)] {
      let path = try directory.makeSubfolder(String(repeating: letter, count: 32)) + "/" + SyncSetup.invitationName
      try Data("x".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: path)
      if letter == "b" { newest = path }
    }
    #expect(try directory.invitation() == newest)
  }
}
