import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Versions of one type that take turns with the same documents.
struct TypeVersionsTests {
  /// The type of app version 1, without versions.
  struct First: Codable, Sendable, Equatable {
    struct Tag: Codable, Sendable, Equatable { var name: String }
    var title: String
    var tags: [Tag] = []
  }

  /// The type of app version 2, which gained members that may be missing.
  struct Second: Codable, Sendable, Equatable {
    struct Tag: Codable, Sendable, Equatable {
      var name: String
      var color: String?
    }
    struct Place: Codable, Sendable, Equatable { var city: String }
    var title: String
    var tags: [Tag] = []
    var rank: Int?
    var place: Place?
  }

  /// The type of app version 3, which renamed a member.
  struct Third: VersionedValue, Equatable {
    static let schema = 2
    var name: String
    var rank: Int?
    static func migrate(_ old: OlderValue<Third>) throws -> Third {
      let second = try old.decode(as: Second.self)
      return Third(name: second.title, rank: second.rank)
    }
  }

  /// A type of a newer program that is older than ``Third``.
  struct Titled: Codable, Sendable { var title: String }

  private func json(_ store: DocumentStore, _ id: DocumentID) throws -> String {
    try store.read { try $0.text(of: id) }
  }

  // MARK: Plain types

  @Test func updateKeepsMembersOfNewerType() throws {
    try withTestStore { test in
      let value = Second(
        title: "a", tags: [.init(name: "x", color: "red"), .init(name: "y", color: "blue")], rank: 7,
        place: .init(city: "Ägina"))
      let id = try test.store.write { try $0.insert(value, into: test.notes) }
      try test.store.write { tx in
        try tx.update(id, as: First.self) { $0.title = "b" }
        try tx.update(id, as: First.self) { $0.tags.swapAt(0, 1) }
        try tx.update(id, as: First.self) { $0.tags[0].name = "z" }
        try tx.update(id, as: First.self) { $0.tags.append(.init(name: "new")) }
        try tx.update(id, as: First.self) { $0.tags.remove(at: 1) }
      }
      let wanted = Second(
        title: "b", tags: [.init(name: "z", color: "blue"), .init(name: "new")], rank: 7, place: .init(city: "Ägina"))
      #expect(try test.store.read { try $0.value(Second.self, of: id) } == wanted)
    }
  }

  /// Sets, and dictionaries whose keys aren't strings, are arrays whose order differs each time.
  @Test func updateKeepsMembersOfNewerTypeInSetsAndDictionaries() throws {
    struct Old: Codable, Sendable {
      var tags: Set<String>
      var items: [Double: First.Tag]
    }
    struct New: Codable, Sendable, Equatable {
      var tags: Set<String>
      var items: [Double: Second.Tag]
      var rank: Int?
    }
    try withTestStore { test in
      var value = New(tags: Set((0..<20).map { "t\($0)" }), items: [:], rank: 7)
      for number in 0..<20 { value.items[Double(number) + 0.5] = .init(name: "same", color: "c\(number)") }
      let id = try test.store.write { try $0.insert(value, into: test.notes) }
      try test.store.write { tx in
        try tx.update(id, as: Old.self) {
          $0.tags.remove("t3")
          $0.items[0.5]?.name = "changed"
          $0.items[1.5] = nil
        }
      }
      value.tags.remove("t3")
      value.items[0.5]?.name = "changed"
      value.items[1.5] = nil
      #expect(try test.store.read { try $0.value(New.self, of: id) } == value)
    }
  }

  @Test func putKeepsMembersOfNewerType() throws {
    try withTestStore { test in
      try test.store.write { tx in
        let id = try tx.put(Second(title: "a", rank: 7), into: test.notes, key: "k").id
        try tx.put(First(title: "b"), into: test.notes, key: "k")
        #expect(try tx.value(Second.self, of: id) == Second(title: "b", rank: 7))
        try tx.put(First(title: "c"), id: id, into: test.notes)
        var options = BulkOptions()
        options.onConflict = .update
        try tx.insert(contentsOf: [First(title: "d")], into: test.notes, options: options, key: { _ in "k" })
        #expect(try tx.value(Second.self, of: id) == Second(title: "d", rank: 7))
      }
    }
  }

  /// A title that comes from a member without a place in the type.
  @Test func putKeepsTitleOfNewerType() throws {
    struct Body: Codable, Sendable { var body: String }
    struct TitledBody: Codable, Sendable {
      var title: String
      var body: String
    }
    try withTestStore { test in
      try test.store.write { tx in
        let id = try tx.put(TitledBody(title: "a", body: "x"), into: test.notes, key: "k").id
        try tx.put(Body(body: "y"), into: test.notes, key: "k")
        #expect(try tx.header(of: id).title == "a")
        var options = BulkOptions()
        options.onConflict = .update
        try tx.insert(contentsOf: [Body(body: "z")], into: test.notes, options: options, key: { _ in "k" })
        #expect(try tx.header(of: id).title == "a")
        #expect(try tx.text(of: id) == #"{"body":"z","title":"a"}"#)
      }
    }
  }

  /// Foundation reads a text with an unpaired surrogate in a member that the type doesn't have.
  @Test func updateRefusesTextThatIsNotStrictJSON() throws {
    try withTestStore { test in
      let text = #"{"extra":"\ud800","title":"a"}"#
      let id = try test.store.write { try $0.insert(Document(text: text, isJSON: true), into: test.notes) }
      try test.store.write { tx in
        let value = try tx.value(Titled.self, of: id)
        #expect(value.title == "a")
        expect(.notDecodable) { try tx.update(id, as: Titled.self) { $0.title = "b" } }
        expect(.notDecodable) { try tx.put(Titled(title: "b"), id: id, into: test.notes) }
      }
      #expect(try json(test.store, id) == text)
    }
  }

  @Test func unchangedValueIsNotWritten() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Second(title: "a", rank: 7), into: test.notes) }
      let before = try test.store.anchor()
      try test.store.write { try $0.update(id, as: First.self) { _ in } }
      #expect(try test.store.anchor().generation == before.generation)
    }
  }

  /// A member that the type has, and that is removed from the value, is removed from the text.
  @Test func updateRemovesKnownMembers() throws {
    struct Open: Codable, Sendable {
      var title: String
      var values: [String: Int]
      var rank: Int?
    }
    try withTestStore { test in
      let text = #"{"extra":[1,{"a":2}],"rank":3,"title":"a","values":{"x":1,"y":2}}"#
      let document = Document(text: text, isJSON: true)
      let id = try test.store.write { try $0.insert(document, into: test.notes) }
      try test.store.write { try $0.update(id, as: Open.self) { ($0.values["x"], $0.rank) = (nil, nil) } }
      #expect(try json(test.store, id) == #"{"extra":[1,{"a":2}],"title":"a","values":{"y":2}}"#)
    }
  }

  @Test func updateRefusesElementsThatLostTheirPlace() throws {
    try withTestStore { test in
      let value = Second(title: "a", tags: [.init(name: "x", color: "red"), .init(name: "y", color: "blue")])
      let id = try test.store.write { try $0.insert(value, into: test.notes) }
      try test.store.write { tx in
        expect(.notDecodable) {
          try tx.update(id, as: First.self) { $0.tags = [.init(name: "new"), .init(name: "x"), .init(name: "y2")] }
        }
      }
      #expect(try test.store.read { try $0.value(Second.self, of: id) } == value)
    }
  }

  @Test func putRefusesWhatCannotBeRead() throws {
    try withTestStore { test in
      try test.store.write { tx in
        let id = try tx.insert(Third(name: "new"), into: test.notes, key: "k")
        let text = try tx.insert(Document(text: "plain text"), into: test.notes)
        let other = try tx.put(["other": 1], into: test.notes, key: "o").id
        let before = try tx.headers(in: test.notes)
        expect(.notDecodable) { try tx.put(Titled(title: "old"), into: test.notes, key: "k") }
        expect(.notDecodable) { try tx.put(First(title: "old"), id: id, into: test.notes) }
        expect(.notDecodable) { try tx.update(id, as: Titled.self) { $0.title = "old" } }
        expect(.notDecodable) { try tx.value(Titled.self, of: id) }
        expect(.notDecodable) { try tx.put(First(title: "old"), id: text, into: test.notes) }
        expect(.notDecodable) { try tx.put(First(title: "old"), id: other, into: test.notes) }
        #expect(try tx.headers(in: test.notes) == before)
      }
      expect(.notDecodable) {
        try test.store.write { tx in
          var options = BulkOptions()
          options.onConflict = .update
          try tx.insert(contentsOf: [First(title: "old")], into: test.notes, options: options, key: { _ in "k" })
        }
      }
      #expect(try test.store.read { try $0.values(Third.self, in: test.notes, skippingOthers: true).count } == 1)
    }
  }

  /// A type that can only be encoded has version 1, and replaces values whose members it writes.
  @Test func encodableTypeReplacesOnlyItsMembers() throws {
    struct Output: Encodable, Sendable {
      struct Tag: Encodable, Sendable { var name: String }
      var title: String
      var tags: [Tag] = []
      var rank: Int?
    }
    try withTestStore { test in
      try test.store.write { tx in
        let id = try tx.put(First(title: "a"), into: test.notes, key: "k").id
        try tx.put(Output(title: "b", tags: [.init(name: "x")], rank: 1), into: test.notes, key: "k")
        #expect(try tx.text(of: id) == #"{"rank":1,"tags":[{"name":"x"}],"title":"b"}"#)
        // A list can grow and shrink.
        let tags: [Output.Tag] = [.init(name: "y"), .init(name: "x")]
        try tx.put(Output(title: "b", tags: tags, rank: 1), into: test.notes, key: "k")
        try tx.put(Output(title: "b", tags: [.init(name: "x")], rank: 1), into: test.notes, key: "k")
        // The member that the value doesn't have can be one that the type doesn't have.
        expect(.notDecodable) { try tx.put(Output(title: "c", tags: [.init(name: "x")]), into: test.notes, key: "k") }
        try tx.put(Second(title: "d", tags: [.init(name: "x", color: "red")]), into: test.notes, key: "k")
        expect(.notDecodable) {
          try tx.put(Output(title: "e", tags: [.init(name: "x")], rank: 2), id: id, into: test.notes)
        }
        expect(.notDecodable) { try tx.put(Output(title: "e", tags: tags, rank: 2), id: id, into: test.notes) }
        #expect(try tx.text(of: id).contains("red"))
        try tx.put(Third(name: "new"), into: test.notes, key: "n")
        expect(.notDecodable) { try tx.put(Output(title: "b"), into: test.notes, key: "n") }
      }
      expect(.notDecodable) {
        try test.store.write { tx in
          var options = BulkOptions()
          options.onConflict = .update
          try tx.insert(contentsOf: [Output(title: "f")], into: test.notes, options: options, key: { _ in "k" })
        }
      }
    }
  }

  @Test func missingMemberNamesCure() throws {
    struct Grown: Codable, Sendable {
      var title: String
      var isPinned = false
    }
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(First(title: "a"), into: test.notes) }
      let error = #expect(throws: StoreError.self) { try test.store.read { try $0.value(Grown.self, of: id) } }
      #expect(error?.code == .notDecodable && error?.documentID == id)
      #expect(error?.message == "document 1 is no Grown: the value has no member isPinned")
      #expect(
        error?.hint == """
          if Grown gained this member, make it optional, or make Grown a VersionedValue whose 'defaults' supply it; \
          otherwise, it was stored as another type
          """)
    }
  }

  /// Defaults supply only the members of the whole value.
  @Test func missingMemberOfNestedTypeNamesCure() throws {
    struct Grown: VersionedValue, Equatable {
      struct Tag: Codable, Sendable, Equatable {
        var name: String
        var color: String
      }
      @TaskLocal static var current = 1
      static var schema: Int { current }
      static var defaults: Grown? { Grown(title: "", tags: []) }
      var title: String
      var tags: [Tag]
      static func migrate(_ old: OlderValue<Grown>) throws -> Grown {
        let first = try old.decode(as: First.self)
        return Grown(title: first.title, tags: first.tags.map { Tag(name: $0.name, color: "red") })
      }
    }
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(First(title: "a", tags: [.init(name: "x")]), into: test.notes) }
      let error = #expect(throws: StoreError.self) { try test.store.read { try $0.value(Grown.self, of: id) } }
      #expect(error?.message == "document 1 is no Grown: tags[0] has no member color")
      #expect(
        error?.hint == """
          if the type of tags[0] gained this member, make it optional, or make Grown a VersionedValue with a higher \
          'schema' whose 'migrate' supplies it; otherwise, it was stored as another type
          """)
      // The hint's cure.
      let grown = try Grown.$current.withValue(2) { try test.store.read { try $0.value(Grown.self, of: id) } }
      #expect(grown == Grown(title: "a", tags: [.init(name: "x", color: "red")]))
    }
  }

  // MARK: Schema numbers

  @Test(arguments: [-1, 0, Int.min, Int.max])
  func invalidVersionOfTypeIsAnError(_ schema: Int) throws {
    struct Wrong: VersionedValue {
      @TaskLocal static var current = 0
      static var schema: Int { current }
      var title = "a"
    }
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(First(title: "a"), into: test.notes, key: "k") }
      try Wrong.$current.withValue(schema) {
        try test.store.write { tx in
          expect(.invalidArgument) { try tx.insert(Wrong(), into: test.notes) }
          expect(.invalidArgument) { try tx.put(Wrong(), into: test.notes, key: "k") }
          expect(.invalidArgument) { try tx.update(id, as: Wrong.self) { $0.title = "b" } }
          expect(.invalidArgument) { try tx.value(Wrong.self, of: id) }
          expect(.invalidArgument) { try tx.migrateValues(Wrong.self, in: test.notes) }
        }
      }
      #expect(try test.store.read { try $0.value(First.self, of: id) } == First(title: "a"))
    }
  }

  @Test(arguments: [-1, 0, 1.5, 1e300])
  func invalidVersionInDocumentIsAnError(_ schema: Double) throws {
    try withTestStore { test in
      try test.store.write { tx in
        let document = Document(text: #"{"name":"a"}"#, attributes: ["schema": .number(schema)], isJSON: true)
        let id = try tx.insert(document, into: test.notes)
        expect(.notDecodable) { try tx.value(Third.self, of: id) }
        expect(.notDecodable) { try tx.put(Third(name: "b"), id: id, into: test.notes) }
        expect(.notDecodable) { try tx.value(First.self, of: id) }
      }
    }
  }

  @Test func schemaNumberFitsItsText() throws {
    try withTestStore { test in
      try test.store.write { tx in
        expect(.invalidArgument) { try tx.insert(First(title: "a"), into: test.notes, attributes: ["schema": 2]) }
      }
      expect(.invalidArgument) {
        try test.store.write { tx in
          try tx.insert(contentsOf: [First(title: "a")], into: test.notes, attributes: { _ in ["schema": 2] })
        }
      }
      try test.store.write { tx in
        let id = try tx.insert(
          Third(name: "a"), into: test.notes, key: "k", attributes: ["schema": 9, "color": "red"])
        #expect(try tx.header(of: id).attributes == ["schema": 2, "color": "red"])
        try tx.put(Document(text: "no value"), into: test.notes, key: "k")
        #expect(try tx.header(of: id).attributes == ["color": "red"])
        let other = try tx.insert(Third(name: "a"), into: test.notes)
        try tx.put(Document(text: #"{"title":"b"}"#, isJSON: true), id: other, into: test.notes)
        #expect(try tx.value(Titled.self, of: other).title == "b")
        let third = try tx.insert(Third(name: "c"), into: test.notes, attributes: ["color": "red"])
        try tx.put(Document(text: try tx.text(of: third), isJSON: true), id: third, into: test.notes)
        #expect(try tx.value(Third.self, of: third) == Third(name: "c"))
        try tx.update(third) { $0.isJSON = false }
        #expect(try tx.header(of: third).attributes == ["color": "red"])
        let second = try tx.insert(Third(name: "b"), into: test.notes, key: "b")
        var options = BulkOptions()
        options.onConflict = .update
        let json = Document(text: #"{"title":"c"}"#, key: "b", isJSON: true)
        try tx.insert(contentsOf: [json], into: test.notes, options: options)
        #expect(try tx.value(Titled.self, of: second).title == "c")
        try tx.update(second) { $0.attributes["schema"] = 2 }
        try tx.insert(contentsOf: [Document(text: "no value", key: "b")], into: test.notes, options: options)
        #expect(try tx.header(of: second).attributes.isEmpty)
      }
    }
  }

  /// An app may use the attribute for something else, which doesn't make the value an older one.
  @Test func updateKeepsMembersBesideOtherSchemaAttribute() throws {
    try withTestStore { test in
      try test.store.write { tx in
        let id = try tx.insert(Second(title: "a", rank: 7), into: test.notes, attributes: ["schema": "mine"])
        try tx.update(id, as: First.self) { $0.title = "b" }
        #expect(try tx.value(Second.self, of: id) == Second(title: "b", rank: 7))
      }
    }
  }

  @Test func completeRecordGivesVersionOfItsValue() throws {
    try withTestStore { other in
      try other.store.write { _ = try $0.insert(First(title: "a"), into: other.notes, id: 1) }
      try withTestStore { test in
        try test.store.write {
          _ = try $0.insert(Third(name: "b"), into: test.notes, attributes: ["color": "red"], id: 1)
        }
        var options = BulkOptions()
        options.onConflict = .update
        options.keepsIDs = true
        try other.store.read { reader throws in
          let source = reader.drafts(of: other.notes)
          try test.store.write { _ = try $0.insert(contentsOf: source, into: test.notes, options: options) }
        }
        try test.store.read { reader throws in
          #expect(try reader.header(of: 1).attributes == ["color": "red"])
          #expect(try reader.value(First.self, of: 1) == First(title: "a"))
        }
      }
    }
  }

  // MARK: A random history

  /// What a document holds, with the members of all app versions.
  private struct Model: Equatable {
    var schema = 1
    var title: String
    var tags: [Second.Tag] = []
    var rank: Int?
    var city: String?
  }

  /// Programs of app versions 1 to 3 change the same documents in turns. No version loses a member or a value that a
  /// newer one has written.
  @Test(arguments: HistorySeeds.first(4))
  func alternatingVersionsLoseNothing(_ seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    try withTestStore { test in
      var model: [DocumentID: Model] = [:]
      for step in 0..<120 {
        let version = random.number(below: 8)
        let ids = model.keys.sorted()
        guard let id = ids.isEmpty || random.number(below: 8) == 0 ? nil : ids[random.number(below: ids.count)] else {
          let id = try test.store.write { tx in
            switch version {
            case 0...3: try tx.insert(First(title: "t\(step)"), into: test.notes)
            case 4...6: try tx.insert(Second(title: "t\(step)", rank: step), into: test.notes)
            default: try tx.insert(Third(name: "t\(step)", rank: step), into: test.notes)
            }
          }
          var new = Model(title: "t\(step)")
          if version > 3 { new.rank = step }
          if version == 7 { new.schema = 2 }
          model[id] = new
          continue
        }
        var wanted = try #require(model[id])
        let isPut = random.number(below: 4) == 0
        do {
          try test.store.write { tx in
            switch version {
            case 0...3:
              guard !isPut else {
                try tx.put(
                  First(title: "p\(step)", tags: wanted.tags.map { .init(name: $0.name) }), id: id, into: test.notes)
                return wanted.title = "p\(step)"
              }
              try tx.update(id, as: First.self) { value in
                switch random.number(below: 5) {
                case 0:
                  value.title = "u\(step)"
                  wanted.title = value.title
                case 1:
                  let place = random.number(below: value.tags.count + 1)
                  value.tags.insert(.init(name: "n\(step)"), at: place)
                  wanted.tags.insert(.init(name: "n\(step)"), at: place)
                case 2 where !value.tags.isEmpty:
                  let place = random.number(below: value.tags.count)
                  value.tags[place].name = "e\(step)"
                  wanted.tags[place].name = "e\(step)"
                case 3 where !value.tags.isEmpty:
                  let place = random.number(below: value.tags.count)
                  value.tags.remove(at: place)
                  wanted.tags.remove(at: place)
                default:
                  value.tags.reverse()
                  wanted.tags.reverse()
                }
              }
            case 4...6:
              guard !isPut else {
                wanted.title = "p\(step)"
                let place = wanted.city.map { Second.Place(city: $0) }
                try tx.put(
                  Second(title: wanted.title, tags: wanted.tags, rank: wanted.rank, place: place), id: id,
                  into: test.notes)
                return
              }
              try tx.update(id, as: Second.self) { value in
                switch random.number(below: 4) {
                case 0: value.rank = random.number(below: 2) == 0 ? nil : step
                case 1: value.place = random.number(below: 2) == 0 ? nil : .init(city: "c\(step)")
                case 2: value.tags.append(.init(name: "n\(step)", color: "red"))
                default: value.title = "u\(step)"
                }
                wanted = Model(title: value.title, tags: value.tags, rank: value.rank, city: value.place?.city)
              }
            default:
              try tx.update(id, as: Third.self) { $0.name = "u\(step)" }
              wanted = Model(schema: 2, title: "u\(step)", rank: wanted.rank)
            }
          }
          model[id] = wanted
        } catch let error as StoreError {
          #expect(error.code == .notDecodable && model[id]?.schema == 2 && version < 7, "\(error)")
        }
        if random.number(below: 16) == 0 {
          _ = try? test.store.write { try $0.migrateValues(Third.self, in: test.notes) }
          for (id, value) in model where value.schema == 1 {
            model[id] = Model(schema: 2, title: value.title, rank: value.rank)
          }
        }
        try check(id, try #require(model[id]), test)
      }
      for (id, value) in model { try check(id, value, test) }
    }
  }

  private func check(_ id: DocumentID, _ model: Model, _ test: TestStore) throws {
    try test.store.read { reader throws in
      if model.schema == 2 {
        #expect(try reader.value(Third.self, of: id) == Third(name: model.title, rank: model.rank))
        return
      }
      let place = model.city.map { Second.Place(city: $0) }
      let wanted = Second(title: model.title, tags: model.tags, rank: model.rank, place: place)
      #expect(try reader.value(Second.self, of: id) == wanted)
    }
  }
}
