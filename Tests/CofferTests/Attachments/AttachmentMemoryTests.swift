import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// The memory that one attachment of any size takes.
struct AttachmentMemoryTests {
  /// Runs in a process of its own, because other tests take memory, too.
  @Test(.slow, .enabled(if: Memory.isMeasurable, "needs /proc"))
  func largeAttachmentTakesLittleMemory() async {
    await #expect(processExitsWith: .success) { try AttachmentMemoryTests.expectLittleMemory(.rollback) }
  }

  @Test(.slow, .enabled(if: Memory.isMeasurable, "needs /proc"))
  func largeAttachmentTakesLittleMemoryWithLog() async {
    await #expect(processExitsWith: .success) { try AttachmentMemoryTests.expectLittleMemory(.writeAheadLog) }
  }

  private static func expectLittleMemory(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    let id = try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
    let other = try test.store.write { try $0.insert(Document(text: "other"), into: test.notes) }
    func read(_ attachment: CofferEngine.Attachment.ID) throws -> Int {
      try test.store.read { reader in
        var count = 0
        try reader.forEachPart(of: attachment) { count += $0.count }
        return count
      }
    }
    /// Undoes a deletion, whose content waits in a file.
    func deleteAndRestore() throws {
      let deleted = try test.store.write { try $0.deleteUndoably([id]) }
      try test.store.write { try $0.restore(deleted) }
    }
    // Runs the code once, without filling the page caches.
    let (small, count) = (100_000, 256 << 20)
    // The log's index, a mapped file, has 1 MiB for each GiB in the log.
    let bound = (2 << 20) + (journal == .rollback ? 0 : count >> 10)
    #expect(try read(try test.attachZeros(small, to: id, name: "small")) == small)
    try deleteAndRestore()
    var large: CofferEngine.Attachment.ID?
    try Memory.expectLittleMore("attaching", below: bound) {
      large = try test.attachZeros(count, to: id, name: "large")
    }
    try Memory.expectLittleMore("attaching many", below: bound) {
      try test.store.write { tx throws in
        let content = [UInt8](repeating: 7, count: 600_000)
        for number in 0..<40 { try tx.attach(content, to: other, name: "\(number)") }
      }
    }
    let attached = try #require(large)
    var bytes = 0
    try Memory.expectLittleMore("reading", below: bound) { bytes = try read(attached) }
    #expect(bytes == count)
    try Memory.expectLittleMore("deleting and restoring", below: bound) { try deleteAndRestore() }
    #expect(try test.store.read { try $0.attachments(of: id).map(\.byteCount) } == [small, count])
  }

  /// VACUUM has two caches of pages.
  @Test(.slow, .enabled(if: Memory.isMeasurable, "needs /proc")) func compactionTakesLittleMemory() async {
    await #expect(processExitsWith: .success) {
      for journal in CreateOptions.Journal.allCases {
        let test = try TestStore { $0.journal = journal }
        let id = try test.store.write { try $0.insert(Document(text: "text"), into: test.notes) }
        _ = try test.attachZeros(200 << 20, to: id, name: "large")
        try Memory.expectLittleMore("compacting", below: 20_000_000) { try test.store.compact() }
        try test.store.close()
        try Memory.expectLittleMore("compacting a file", below: 20_000_000) { try DocumentStore.compact(at: test.url) }
      }
    }
  }

  /// Each transaction of a rekey changes pages, which the next one doesn't need.
  @Test(.slow) func rekeyOfManyTakesLittleMemory() throws {
    let test = try TestStore()
    let store = try test.reopened()
    let id = try store.write { try $0.insert(Document(text: "text"), into: test.notes) }
    let content = [UInt8](repeating: 7, count: 2 << 20)
    for number in 0..<60 { try store.write { tx in _ = try tx.attach(content, to: id, name: "\(number)") } }
    let connection = try #require(store.engine.connections.writingConnection)
    var (most, count) = (0, 0)
    try store.rekey { _ in
      most = max(most, try connection.database.connection.usedCacheBytes())
      count += 1
    }
    #expect(count > 8)
    #expect(most < 4 << 20, "\(most)")
    #expect(try store.verify().isSound)
  }
}

extension TestStore {
  fileprivate func attachZeros(
    _ count: Int, to id: DocumentID, name: String
  ) throws -> CofferEngine.Attachment.ID {
    let file = place.file(name)
    #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
    #expect(truncate(file.path, count) == 0)
    return try store.write { try $0.attach(.file(file), to: id) }.id
  }
}

/// This process's memory, as the kernel counts it.
private enum Memory {
  static let isMeasurable = FileManager.default.fileExists(atPath: "/proc/self/clear_refs")

  static func expectLittleMore(_ name: String, below bound: Int, _ work: () throws -> Void) throws {
    let before = try resident()
    try forgetPeak()
    try work()
    let peak = try peak()
    #expect(peak - before < bound, "\(name): \(before) \(peak)")
  }

  private static func resident() throws -> Int { try value("VmRSS:") }
  private static func peak() throws -> Int { try value("VmHWM:") }

  private static func forgetPeak() throws {
    let file = try FileHandle(forWritingTo: URL(filePath: "/proc/self/clear_refs"))
    try file.write(contentsOf: Data("5".utf8))
    try file.close()
  }

  private static func value(_ name: String) throws -> Int {
    let status = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/status")).readToEnd() ?? Data()
    let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name) }
    return try #require(Int(line?.split(whereSeparator: \.isWhitespace).dropFirst().first ?? "")) << 10
  }
}
