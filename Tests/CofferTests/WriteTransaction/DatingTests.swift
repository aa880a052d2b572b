import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// The modification date of a changed document.
struct DatingTests {
  private static let old = Timestamp(millisecondsSince1970: 1_000)

  private func modified(_ change: (borrowing WriteTransaction, DocumentID) throws -> Void) throws -> Timestamp {
    var date = Self.old
    try withTestStore { test in
      date = try test.store.write { writer throws in
        let id = try writer.insert(Document(text: "{}", modified: Self.old, isJSON: true), into: test.notes)
        try change(writer, id)
        return try writer.header(of: id).modified
      }
    }
    return date
  }

  @Test func updateSetsCurrentDate() throws {
    #expect(try modified { try $0.update($1) { $0.text = "[]" } } > Self.old)
    #expect(try modified { try $0.update($1) { $0 = Document(text: "[]") } } > Self.old)
    #expect(try modified { try $0.update($1, as: [String: Int].self) { $0["a"] = 1 } } > Self.old)
  }

  @Test func preservesDateOnRequest() throws {
    #expect(try modified { try $0.update($1, keepingDate: true) { $0.text = "[]" } } == Self.old)
    #expect(try modified { try $0.update($1, as: [String: Int].self, keepingDate: true) { $0["a"] = 1 } } == Self.old)
  }

  @Test func preservesDateSetByClosure() throws {
    let date = Timestamp(millisecondsSince1970: 2_000)
    #expect(
      try modified {
        try $0.update($1) {
          $0.text = "[]"; $0.modified = date
        }
      } == date)
    #expect(try modified { try $0.update($1, keepingDate: true) { $0.modified = date } } == date)
    #expect(try modified { try $0.update($1) { $0 = Document(text: "[]", modified: date) } } == date)
  }

  @Test func preservesDateReassignedByClosure() throws {
    #expect(
      try modified {
        try $0.update($1) {
          $0.text = "[]"; $0.modified = $0.modified
        }
      } == Self.old)
  }

  @Test func replacesDateRemovedByClosure() throws {
    #expect(
      try modified {
        try $0.update($1) {
          $0.text = "[]"; $0.modified = nil
        }
      } > Self.old)
    #expect(try modified { try $0.update($1, keepingDate: true) { $0.modified = nil } } > Self.old)
  }

  @Test func unchangedDocumentKeepsDate() throws {
    #expect(try modified { try $0.update($1) { _ in } } == Self.old)
    #expect(try modified { try $0.update($1, as: [String: Int].self) { _ in } } == Self.old)
  }

  @Test func throwingClosureLeavesDocumentUnchanged() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        let id = try writer.insert(Document(text: "{}", isJSON: true), into: test.notes)
        #expect(throws: Interruption()) {
          try writer.update(id) { document in
            document.text = "other"
            throw Interruption()
          }
        }
        #expect(throws: Interruption()) {
          try writer.update(id, as: [String: Int].self) { value in
            value["a"] = 1
            throw Interruption()
          }
        }
        #expect(try writer.text(of: id) == "{}")
      }
    }
  }

  @Test func convertsDatesAndTimestamps() {
    #expect(Timestamp(Date(timeIntervalSince1970: 1.0004)) == Timestamp(millisecondsSince1970: 1_000))
    #expect(Timestamp(Date(timeIntervalSince1970: -1.0006)) == Timestamp(millisecondsSince1970: -1_001))
    #expect(Date(Timestamp(millisecondsSince1970: 1_500)) == Date(timeIntervalSince1970: 1.5))
    for extreme in [Double.greatestFiniteMagnitude, .infinity, .nan] {
      #expect(Timestamp(Date(timeIntervalSince1970: extreme)).millisecondsSince1970 == .max)
    }
    for extreme in [-Double.greatestFiniteMagnitude, -Double.infinity] {
      #expect(Timestamp(Date(timeIntervalSince1970: extreme)).millisecondsSince1970 == .min)
    }
    #expect(Date(Timestamp(millisecondsSince1970: .max)) > Date(Timestamp(millisecondsSince1970: .min)))
  }
}
