import Coffer
import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

@Suite struct SealedContentsTests {
  private let text = Array("Sail at dawn. ".utf8)

  /// Returns contents with one piece in memory, two in the file and a tail.
  private func filled() throws -> (contents: SealedContents, bytes: [UInt8]) {
    let contents = SealedContents(of: "the test's bytes", memory: 256 << 10)
    var bytes: [UInt8] = []
    while bytes.count < 3 * (256 << 10) + 100 { bytes += text + Array("\(bytes.count) ".utf8) }
    var start = 0
    for length in [1, 1000, (256 << 10) + 7, bytes.count] {
      let end = min(bytes.count, start + length)
      try bytes[start..<end].withUnsafeBytes { try contents.append($0) }
      start = end
    }
    return (contents, bytes)
  }

  private func read(_ contents: SealedContents, _ range: Range<Int>) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try contents.forEachPart(of: range) { bytes += Array($0) }
    return bytes
  }

  @Test func readsRangesRepeatedly() throws {
    let (contents, bytes) = try filled()
    #expect(contents.count == bytes.count)
    let piece = 256 << 10
    for range in [
      0..<bytes.count, 0..<bytes.count, 5..<5, 10..<20, piece - 1..<piece + 1, piece..<2 * piece,
      piece + 3..<3 * piece + 50, 3 * piece..<bytes.count,
    ] {
      #expect(try read(contents, range) == Array(bytes[range]))
    }
  }

  @Test func keepsFewBytesInMemory() throws {
    let contents = SealedContents(of: "the test's bytes")
    try text.withUnsafeBytes { try contents.append($0) }
    #expect(contents.descriptor == nil)
    #expect(try read(contents, 0..<text.count) == text)
  }

  @Test func encryptsAndUnlinksFile() throws {
    let (contents, _) = try filled()
    let descriptor = try #require(contents.descriptor)
    var status = stat()
    #expect(fstat(descriptor, &status) == 0 && status.st_nlink == 0 && status.st_mode & 0o777 == 0o600)
    var onDisk = [UInt8](repeating: 0, count: Int(status.st_size))
    #expect(pread(descriptor, &onDisk, onDisk.count, 0) == onDisk.count && onDisk.count > 2 * (256 << 10))
    #expect(Data(onDisk).range(of: Data(text)) == nil)
  }

  @Test func rejectsAlteredPiece() throws {
    let (contents, bytes) = try filled()
    let descriptor = try #require(contents.descriptor)
    var byte: UInt8 = 0
    #expect(pread(descriptor, &byte, 1, 1000) == 1)
    byte ^= 1
    #expect(pwrite(descriptor, &byte, 1, 1000) == 1)
    #expect(throws: StoreError.self) { try read(contents, 0..<bytes.count) }
    #expect(try read(contents, 0..<1000) == Array(bytes[..<1000]))
  }
}
