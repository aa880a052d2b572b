import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// With a write-ahead log, a session that only reads doesn't wait for a writer.
struct WriteAheadReaderTests {
  @Test func readersNeverWaitForWriter() throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    try test.store.write { tx in
      for number in 0..<300 {
        _ = try tx.insert(Document(title: "t\(number)", text: #"{"n":\#(number)}"#, isJSON: true), into: test.notes)
      }
    }
    try test.store.index(test.notes, .words(), .field("n", "$.n", as: .number))
    try test.store.write { _ = try $0.insert(Document(text: #"{"n":300}"#, isJSON: true), into: test.notes) }
    let meeting = Meeting()
    let writer = Background { [store = test.store, notes = test.notes] in
      try store.write { tx in
        _ = try tx.insert(Document(text: "uncommitted"), into: notes)
        meeting.stop()
      }
    }
    meeting.waitForArrival()
    var options = OpenOptions.testing
    let notes = test.notes
    let works: [(DocumentStore) throws -> Bool] = [
      { store in try store.read { try $0.headers(in: notes) }.count == 301 },
      { store in try store.read { try $0.text(of: 1) } == #"{"n":0}"# },
      { store in
        try store.read { try $0.query("SELECT count(*) FROM notes WHERE n >= 100") }.rows[0][0] == .integer(201)
      },
      { store in try store.read { try $0.search(for: .text("299"), in: notes) }.count == 1 },
      { store in try store.verify().isSound }, { store in try store.keys.list().count == 1 },
      { store in try store.anchor().generation > 0 }, { store in try store.indexedFields(of: notes).count == 1 },
      { _ in true },
    ]
    for (number, work) in works.enumerated() {
      // A reader that has to wait for the writer would throw `locked` at once, or wait without end.
      for (isReadOnly, wait) in [(true, Duration.zero), (false, .zero), (true, nil), (false, nil)] {
        (options.isReadOnly, options.wait) = (isReadOnly, wait)
        do {
          let store = try test.reopened(.published("primary"), options)
          #expect(try work(store), "work \(number)")
          try store.close()
        } catch {
          Issue.record("work \(number), read only \(isReadOnly): \(error)")
        }
      }
    }
    meeting.letGo()
    try writer.value()
    try test.store.close()
    // The last store to close copies the log.
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.place.url.path) == ["test.coffer"])
    #expect(try test.reopened().read { try $0.count(in: notes) } == 302)
  }
}
