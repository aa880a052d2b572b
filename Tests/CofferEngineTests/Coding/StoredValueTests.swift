import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Reading and writing values, including coding errors.
struct StoredValueTests {
  struct Item: Codable, Sendable, Equatable {
    var name: String
    var price: Double
    var tags: [String: Int] = [:]
    var parts: [Part] = []

    struct Part: Codable, Sendable, Equatable {
      var link: URL?
      var count: Int
    }
  }

  /// Inserts 300 documents, enough for a second thread. Two in ten are plain text or values of another type.
  private func fill(_ test: TestStore) throws {
    try test.store.write { writer throws in
      for number in 0..<300 {
        switch number % 10 {
        case 3: try writer.insert(Document(text: "plain \(number)"), into: test.notes)
        case 7: try writer.insert(["other": number], into: test.notes)
        default: try writer.insert(Item(name: "i\(number)", price: Double(number)), into: test.notes)
        }
      }
    }
  }

  @Test func skipsOtherTypesOnRequest() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.read { reader throws in
        expect(.notDecodable) { try reader.values(Item.self, in: test.notes) }
        let items = try reader.values(Item.self, in: test.notes, skippingOthers: true)
        #expect(items.count == 240)
        #expect(items.map(\.price) == (0..<300).filter { $0 % 10 != 3 && $0 % 10 != 7 }.map(Double.init))
      }
    }
  }

  @Test func readsConsecutivePages() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.read { reader throws in
        var found: [StoredValue<Item>] = []
        while true {
          let page = try reader.values(
            Item.self, in: test.notes, after: found.last?.header, limit: 7, skippingOthers: true
          ) { $0.price >= 10 && $0.price.truncatingRemainder(dividingBy: 2) == 0 }
          found += page
          if page.count < 7 { break }
        }
        #expect(found.map(\.price) == (10..<300).filter { $0 % 2 == 0 }.map(Double.init))
        #expect(found.allSatisfy { $0.id.rawValue == Int64($0.price) + 1 && $0.name == "i\(Int($0.price))" })
        #expect(try reader.values(Item.self, in: test.notes, limit: 0).isEmpty)
        #expect(try reader.values(Item.self, in: test.notes, limit: -1).isEmpty)
      }
    }
  }

  @Test func filterErrorEndsList() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.read { reader throws in
        #expect(throws: Interruption()) {
          try reader.values(Item.self, in: test.notes, skippingOthers: true) { _ in throw Interruption() }
        }
      }
    }
  }

  @Test func reportsDamageWhileSkippingOthers() throws {
    let test = try TestStore()
    try fill(test)
    try test.raw().execute("UPDATE coffer_record SET body=zeroblob(length(body)) WHERE id=50")
    try test.store.read { reader throws in
      expect(.damaged) { try reader.values(Item.self, in: test.notes, skippingOthers: true) }
    }
  }

  @Test func updatedValueKeepsAttributes() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        let id = try writer.insert(Item(name: "a", price: 1), into: test.notes, attributes: ["kept": 1, "gone": 2])
        let generation = writer.generation
        try writer.update(id, as: Item.self) { $0.price = 2 }
        try writer.update(id) {
          $0.attributes["price"] = 2
          $0.attributes["gone"] = nil
        }
        let stored = try #require(try writer.values(Item.self, in: test.notes).first)
        #expect(stored.id == id && stored.value.price == 2)
        #expect(stored.header.attributes == ["kept": 1, "price": 2])
        #expect(writer.generation == generation)
      }
    }
  }

  @Test func bulkUpdateChangesTitleAsPutDoes() throws {
    struct Named: Codable, Sendable { var name: String }
    try withTestStore { test in
      try test.store.write { writer throws in
        var options = BulkOptions()
        options.onConflict = .update
        for key in ["given", "derived", "explicit"] {
          let title = key == "derived" ? nil : "Mine"
          let id = try writer.insert(Named(name: "a"), into: test.notes, key: DocumentKey(key), title: title)
          try writer.put(Named(name: "b"), into: test.notes, key: DocumentKey(key))
          #expect(try writer.header(of: id).title == title ?? "b")
          _ = try writer.insert(
            contentsOf: [Named(name: "c")], into: test.notes, options: options, key: { _ in DocumentKey(key) },
            title: { _ in key == "explicit" ? "New" : nil })
          #expect(try writer.header(of: id).title == ["given": "Mine", "derived": "c", "explicit": "New"][key])
        }
      }
    }
  }

  // MARK: Errors

  struct Fault: Sendable, CustomTestStringConvertible {
    let json: String
    let words: String
    var testDescription: String { words }
  }

  static let faults = [
    Fault(json: #"{"price":1}"#, words: "the value has no member name"),
    Fault(json: #"{"name":"a","price":"cheap"}"#, words: "price is a string; its type is Double"),
    Fault(json: #"{"name":null,"price":1}"#, words: "name is null; its type is String"),
    Fault(
      json: #"{"name":"a","price":1,"tags":{"secret key":true},"parts":[]}"#,
      words: "tags[…] is a boolean; its type is Int"),
    Fault(
      json: #"{"name":"a","price":1,"tags":{},"parts":[{"count":1},{"count":"secret"}]}"#,
      words: "parts[1].count is a string; its type is Int"),
    Fault(
      json: #"{"name":"a","price":1,"tags":{},"parts":[{"count":1.5}]}"#,
      words: "it has a value that its type can't hold"),
    Fault(
      json: #"{"name":"a","price":1,"tags":{},"parts":[{"link":"","count":1}]}"#,
      words: "parts[0].link, a string, is not one that its type takes"),
    Fault(json: #"[1]"#, words: "the value is an array"),
    Fault(json: "plain secret text", words: "the text is not JSON"),
  ]

  @Test(arguments: faults)
  func decodingErrorReportsPathAndTypes(fault: Fault) throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(Document(text: fault.json, isJSON: true), into: test.notes) }
      do {
        _ = try test.store.read { try $0.value(Item.self, of: id) }
        Issue.record("it was decoded")
      } catch let error as StoreError {
        #expect(error.code == .notDecodable && error.documentID == id)
        #expect(error.message.hasPrefix("document \(id) is no Item: \(fault.words)"), "\(error)")
        #expect(!"\(error)".contains("secret") && !"\(error)".contains("cheap"))
        #expect(error.localizedDescription == error.description)
      }
    }
  }

  /// Dictionary keys are content, with any key strategy, and also if they're numbers.
  @Test(arguments: [false, true], ["words", "numbers"])
  func decodingErrorHidesDictionaryKeys(_ isSnakeCase: Bool, _ member: String) throws {
    struct Counts: Codable {
      var words: [String: Int]?
      var numbers: [Int: Int]?
    }
    var options = OpenOptions.testing
    if isSnakeCase { options.values = ValueCoding(decoder: { $0.keyDecodingStrategy = .convertFromSnakeCase }) }
    let test = try TestStore()
    let key = member == "words" ? "secret" : "4711"
    let json = #"{"\#(member)":{"\#(key)":true}}"#
    let id = try test.store.write { try $0.insert(Document(text: json, isJSON: true), into: test.notes) }
    let store = try test.reopened(.published("primary"), options)
    let error = try #require(throws: StoreError.self) { try store.read { try $0.value(Counts.self, of: id) } }
    #expect(error.code == .notDecodable && error.message.contains("\(member)[…] is a boolean"), "\(error)")
    #expect(!error.description.contains(key))
  }

  @Test func encodingErrorReportsPath() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        do {
          try writer.insert(Item(name: "secret", price: .nan), into: test.notes)
          Issue.record("it was encoded")
        } catch let error as StoreError {
          let words = "the Item can't be written as JSON: price, of the type Double, has no form in JSON"
          #expect(error.message == words)
        }
        #expect(try !writer.exists(test.notes))
      }
    }
  }

  @Test func usesConfiguredCodingStrategies() throws {
    struct Dated: Codable, Equatable { var madeAt = Date(timeIntervalSince1970: 86_400) }
    var options = OpenOptions.testing
    options.values = ValueCoding(
      encoder: {
        $0.dateEncodingStrategy = .iso8601
        $0.keyEncodingStrategy = .convertToSnakeCase
        $0.outputFormatting = .prettyPrinted
      },
      decoder: {
        $0.dateDecodingStrategy = .iso8601
        $0.keyDecodingStrategy = .convertFromSnakeCase
      })
    let test = try TestStore(options: options)
    let id = try test.store.write { try $0.insert(Dated(), into: test.notes) }
    try test.store.read { reader throws in
      #expect(try reader.text(of: id) == #"{"made_at":"1970-01-02T00:00:00Z"}"#)
      #expect(try reader.value(Dated.self, of: id) == Dated())
    }
    expect(.notDecodable) { try test.reopened().read { try $0.value(Dated.self, of: id) } }
  }
}
