import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// The order and the attributes of collections.
struct CollectionOrderTests {
  private func names(_ test: TestStore) throws -> [String] {
    try test.store.read { try $0.collections().map(\.name) }
  }

  @Test func listsCollectionsInGivenOrder() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        for name in ["a", "b", "c", "d"] { try writer.create(DocumentCollection(name)) }
      }
      #expect(try names(test) == ["a", "b", "c", "d"])
      try test.store.write { try $0.reorder(["c", "a"]) }
      #expect(try names(test) == ["c", "a", "b", "d"])
      try test.store.write { writer throws in
        try writer.insert(Document(text: ""), into: "new")
        try writer.insert(
          contentsOf: ListSource([.init(text: "", collection: "bulk")]), into: nil, options: BulkOptions())
      }
      #expect(try names(test) == ["c", "a", "b", "d", "new", "bulk"])
      try test.store.write { writer throws in
        expect(.noSuchCollection) { try writer.reorder(["a", "none"]) }
        expect(.invalidArgument) { try writer.reorder(["a", "b", "a"]) }
        try writer.reorder([])
      }
      #expect(try names(test) == ["c", "a", "b", "d", "new", "bulk"])
      let generation = try test.store.read { $0.generation }
      try test.store.write { try $0.reorder(["c", "a", "b", "d", "new", "bulk"]) }
      #expect(try test.store.read { $0.generation } == generation)
    }
  }

  /// A dropped collection has a lower number than the others when it's made again.
  @Test func listsRecreatedCollectionLast() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        for name in ["a", "b", "c"] { try writer.create(DocumentCollection(name)) }
        try writer.drop("a")
        try writer.create("a")
      }
      #expect(try names(test) == ["b", "c", "a"])
      try test.store.write { writer throws in
        try writer.drop("b")
        try writer.insert(Document(text: ""), into: "b")
      }
      #expect(try names(test) == ["c", "a", "b"])
      try test.store.write { writer throws in
        try writer.drop("a")
        try writer.insert(
          contentsOf: ListSource([.init(text: "", collection: "a"), .init(text: "", collection: "new")]), into: nil,
          options: BulkOptions())
      }
      #expect(try names(test) == ["c", "b", "a", "new"])
    }
  }

  @Test func encryptsAndPreservesAttributes() throws {
    try withTestStore { test in
      let attributes: Attributes = ["colour": "marigold", "e\u{301}": 1, "\u{E9}": ["deep": [nil]]]
      try test.store.write { writer throws in
        try writer.create(test.notes, titleRule: .derived, attributes: attributes)
        try writer.reorder([test.notes])
      }
      #expect(try test.reopened().read { try $0.info(of: test.notes).attributes } == attributes)
      #expect(try test.bytesOnDisk().range(of: Data("marigold".utf8)) == nil)
      try test.store.write { try $0.rename(test.notes, to: "renamed") }
      #expect(try test.store.read { try $0.info(of: "renamed").attributes } == attributes)
      try test.store.rekey { _ in }
      let copy = test.place.file("copy.coffer")
      try test.store.copy(to: copy, keys: [.published("next")])
      let other = try DocumentStore.open(at: copy, key: .published("next"), options: .testing)
      #expect(try other.read { try $0.info(of: "renamed").attributes } == attributes)
      #expect(try other.read { try $0.info(of: "renamed").titleRule } == .derived)
      try test.store.write { try $0.update("renamed", attributes: Attributes()) }
      #expect(try test.store.read { try $0.info(of: "renamed").attributes.isEmpty })
    }
  }

  @Test func rejectsInvalidAttributes() throws {
    try withTestStore { test in
      let long: Attributes = ["x": .string(String(repeating: "x", count: 65_529))]
      let longest: Attributes = ["x": .string(String(repeating: "x", count: 65_528))]
      try test.store.write { writer throws in
        expect(.invalidArgument) { try writer.create(test.notes, attributes: ["x": .number(.nan)]) }
        expect(.tooLarge) { try writer.create(test.notes, attributes: long) }
        #expect(try !writer.exists(test.notes))
        try writer.create(test.notes, attributes: longest)
        expect(.tooLarge) { try writer.update(test.notes, attributes: long) }
        expect(.invalidArgument) { try writer.update(test.notes, attributes: ["x": .number(.infinity)]) }
        #expect(try writer.info(of: test.notes).attributes == longest)
      }
    }
  }

  /// The settings, which are read as a whole, are one more object around the attributes.
  @Test func limitsDepthOfAttributes() throws {
    func attributes(levels: Int) throws -> Attributes {
      let (open, close) = (String(repeating: "[", count: levels - 1), String(repeating: "]", count: levels - 1))
      return try Attributes(json: #"{"x":\#(open)\#(close)}"#)
    }
    try withTestStore { test in
      let deepest = try attributes(levels: 511)
      let tooDeep = try attributes(levels: 512)
      try test.store.write { writer throws in
        expect(.invalidArgument) { try writer.create(test.notes, attributes: tooDeep) }
        #expect(try !writer.exists(test.notes))
        try writer.create(test.notes, attributes: deepest)
        expect(.invalidArgument) { try writer.update(test.notes, attributes: tooDeep) }
      }
      #expect(try test.reopened().read { try $0.info(of: test.notes).attributes } == deepest)
    }
  }
}
