import Coffer
import CofferPlatform
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

@Suite struct SealedSpoolTests {
  private let text = Array("Sail at dawn. ".utf8)

  /// Returns a spool with three pieces and a tail, keeping one piece in memory.
  private func filled() throws -> (spool: SealedSpool, bytes: [UInt8]) {
    let spool = SealedSpool(memory: SealedSpool.pieceSize)
    var bytes: [UInt8] = []
    while bytes.count < 3 * SealedSpool.pieceSize + 100 {
      bytes += text + Array("\(bytes.count) ".utf8)
    }
    // Appends have different lengths, including more than a piece.
    var start = 0
    for length in [1, 1000, SealedSpool.pieceSize + 7, .max] {
      let end = min(bytes.count, start &+ length < start ? bytes.count : start + length)
      try bytes[start..<end].withUnsafeBytes { try spool.append($0) }
      start = end
    }
    return (spool, bytes)
  }

  private func read(_ spool: SealedSpool) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while case let piece = try spool.takePiece(), !piece.isEmpty { bytes += piece }
    #expect(spool.count == 0)
    return bytes
  }

  @Test func readsBytesInOrder() throws {
    let (spool, bytes) = try filled()
    #expect(spool.count == bytes.count)
    #expect(try read(spool) == bytes)
    #expect(try read(SealedSpool()) == [])
  }

  @Test func readsBytesWhileAppending() throws {
    let spool = SealedSpool(memory: SealedSpool.pieceSize)
    var (added, taken): ([UInt8], [UInt8]) = ([], [])
    for round in 0..<40 {
      let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ round) }
      added += bytes
      try bytes.withUnsafeBytes { try spool.append($0) }
      // Occasionally takes all pieces, which restarts the file.
      for _ in 0..<(round % 13 == 12 ? 20 : round % 4 == 0 ? 1 : 0) { taken += try spool.takePiece() }
    }
    #expect(spool.descriptor != nil)
    taken += try read(spool)
    #expect(taken == added)
  }

  @Test func encryptsAndUnlinksFile() throws {
    let (spool, _) = try filled()
    let descriptor = try #require(spool.descriptor)
    var status = stat()
    #expect(fstat(descriptor, &status) == 0)
    #expect(status.st_nlink == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    var onDisk = [UInt8](repeating: 0, count: Int(status.st_size))
    #expect(pread(descriptor, &onDisk, onDisk.count, 0) == onDisk.count)
    #expect(onDisk.count > 2 * SealedSpool.pieceSize)
    #expect(Data(onDisk).range(of: Data(text)) == nil)
  }

  @Test func rejectsAlteredAndExchangedPieces() throws {
    let (spool, _) = try filled()
    let descriptor = try #require(spool.descriptor)
    var byte: UInt8 = 0
    #expect(pread(descriptor, &byte, 1, 1000) == 1)
    byte ^= 1
    #expect(pwrite(descriptor, &byte, 1, 1000) == 1)
    #expect(throws: StoreError.self) { try read(spool) }

    let (other, _) = try filled()
    let second = try #require(other.descriptor)
    var status = stat()
    fstat(second, &status)
    var pieces = [UInt8](repeating: 0, count: Int(status.st_size))
    #expect(pread(second, &pieces, pieces.count, 0) == pieces.count)
    let exchanged = Array(pieces[(pieces.count / 2)...] + pieces[..<(pieces.count / 2)])
    #expect(pwrite(second, exchanged, exchanged.count, 0) == exchanged.count)
    #expect(throws: StoreError.self) { try read(other) }
  }
}
