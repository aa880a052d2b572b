import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Concurrent threads on one or several handles, with an invariant that every reader checks.
struct ThreadTests {
  private static let accounts = 16
  private static let total = 16_000

  private func open(_ test: TestStore) throws {
    try test.store.write { writer in
      for _ in 0..<Self.accounts {
        try writer.insert(Document(title: "1000", text: "1000"), into: test.notes)
      }
    }
  }

  /// Moves an amount from one document to another, keeping the sum constant.
  private func transfer(_ store: DocumentStore, _ round: Int, _ thread: Int) throws {
    let from = DocumentID(1 + (round * 7 + thread * 3) % Self.accounts)
    let to = DocumentID(1 + (round * 5 + thread + 1) % Self.accounts)
    guard from != to else { return }
    let amount = 1 + (round + thread) % 9
    try store.write { writer in
      for (id, change) in [(from, -amount), (to, amount)] {
        let value = try #require(Int(writer.text(of: id))) + change
        try writer.update(id) {
          $0.text = "\(value)"
          $0.title = "\(value)"
        }
      }
    }
  }

  /// Expects texts, titles and single reads to agree and to have the constant sum.
  private func expectInvariant(_ store: DocumentStore) throws {
    try store.read { reader in
      var texts = 0
      try reader.forEach(in: DocumentCollection("notes")) { opened in
        let value = try #require(Int(opened.text))
        #expect(opened.header.title == opened.text)
        texts += value
      }
      let titles = try reader.headers(in: DocumentCollection("notes")).compactMap { $0.title.flatMap { Int($0) } }
      #expect(texts == Self.total && titles.count == Self.accounts && titles.reduce(0, +) == Self.total)
    }
  }

  /// Runs `work` concurrently on the given number of threads and rethrows the first error.
  private func together(_ threads: Int, _ work: @escaping @Sendable (Int) throws -> Void) throws {
    let failure = Mutex<(any Error)?>(nil)
    let group = DispatchGroup()
    for thread in 0..<threads {
      group.enter()
      Thread.detachNewThread {
        do { try work(thread) } catch { failure.withLock { $0 = $0 ?? error } }
        group.leave()
      }
    }
    group.wait()
    if let error = failure.withLock({ $0 }) { throw error }
  }

  @Test(.slow, arguments: CreateOptions.Journal.allCases)
  func eightThreadsShareStore(_ journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      try open(test)
      let store = test.store
      try together(8) { thread in
        for round in 0..<40 {
          if thread.isMultiple(of: 2) { try transfer(store, round, thread) } else { try expectInvariant(store) }
        }
      }
      try expectInvariant(store)
    }
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func handlesSeeEachOthersCommits(_ journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      try open(test)
      let handles = try [test.store, test.reopened(), test.reopened()]
      try together(6) { thread in
        let store = handles[thread % 3]
        for round in 0..<20 {
          if thread < 3 { try transfer(store, round, thread) } else { try expectInvariant(store) }
        }
      }
      for store in handles { try expectInvariant(store) }
      #expect(Set(try handles.map { try $0.anchor() }).count == 1)
    }
  }

  @Test(.slow) func concurrentCheckpointsKeepAllCommits() throws {
    try withTestStore({ $0.journal = .writeAheadLog }) { test in
      try test.store.write { try $0.create(test.notes) }
      let handles = try [test.store, test.reopened()]
      // With 24 KiB per document and 4 MiB per checkpoint, each handle checkpoints several times.
      let text = String(repeating: "12345678", count: 3 * 1024)
      try together(2) { thread in
        for round in 0..<200 {
          let key = DocumentKey("\(thread)-\(round)")
          try handles[thread].write { try $0.insert(Document(text: text, key: key), into: DocumentCollection("notes")) }
        }
      }
      try test.store.read { reader in
        let keys = try reader.headers(in: test.notes).compactMap { $0.key?.text }
        #expect(Set(keys) == Set((0..<2).flatMap { thread in (0..<200).map { "\(thread)-\($0)" } }))
      }
      let log = try FileManager.default.attributesOfItem(atPath: test.url.path + "-wal")[.size] as? NSNumber
      #expect(try #require(log).intValue < 16 << 20)
    }
  }

  @Test func writersContinueDuringReadInWAL() throws {
    var options = OpenOptions.testing
    options.wait = nil
    let test = try TestStore({ $0.journal = .writeAheadLog }, options: options)
    try test.store.write { try $0.insert(Document(title: "0", text: ""), into: test.notes) }
    // A checkpoint that waited for this reader would never end, because the wait is unlimited.
    try test.store.read { reader in
      _ = try reader.headers(in: test.notes)
      let text = String(repeating: "x", count: 1 << 20)
      let (store, notes) = (test.store, test.notes)
      try Background {
        for _ in 0..<12 { try store.write { try $0.insert(Document(text: text), into: notes) } }
      }.value()
      let count = try reader.headers(in: notes).count
      #expect(count == 1)
    }
    try test.expectSound()
  }

  @Test func reopeningKeepsDescriptorCount() throws {
    let test = try TestStore({ $0.journal = .writeAheadLog })
    let file = test.url.resolvingSymlinksInPath().path
    func descriptors() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { number in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) == file
      }
    }
    try test.store.close()
    let before = try descriptors()
    for _ in 0..<5 { try test.reopened().close() }
    #expect(try descriptors() == before && before <= 1)
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func followsKeyChangesDuringReadsAndWrites(_ journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      try open(test)
      let store = test.store
      try together(5) { thread in
        for round in 0..<12 {
          switch thread {
          case 0:
            var options = RekeyOptions()
            options.batchSize = 3
            options.otherKeys = [.published("primary")]
            try store.rekey(options: options) { _ in }
          case 1, 2: try transfer(store, round, thread)
          default: try expectInvariant(store)
          }
        }
      }
      try expectInvariant(store)
      #expect(try store.rekeyStatus().isFinished)
    }
  }

  @Test(.slow, arguments: CreateOptions.Journal.allCases)
  func followsKeyChangeDuringCommit(_ journal: CreateOptions.Journal) throws {
    try withTestStore({ $0.journal = journal }) { test in
      let store = test.store
      let isOver = Atomic(false)
      try together(4) { thread in
        if thread == 0 {
          defer { isOver.store(true, ordering: .relaxed) }
          for _ in 0..<40 { try store.rekey { _ in } }
        } else {
          while !isOver.load(ordering: .relaxed) { try store.read { _ = try $0.collections() } }
        }
      }
    }
  }

  @Test func closingStoreEndsItsThreads() throws {
    let test = try TestStore()
    try open(test)
    let store = test.store
    try together(5) { thread in
      guard thread > 0 else {
        try expectInvariant(store)
        return try store.close()
      }
      do {
        for round in 0... {
          if thread > 2 { try transfer(store, round, thread) } else { try expectInvariant(store) }
        }
      } catch let error as StoreError where error.code == .closed {}
    }
    try expectInvariant(try test.reopened())
  }
}
