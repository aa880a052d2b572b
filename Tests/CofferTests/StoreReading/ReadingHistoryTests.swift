import Coffer
import CofferTestSupport
import Testing

@testable import CofferStoreTestSupport

/// Random histories, after which all calls that read a document agree with a model and with each other.
struct ReadingHistoryTests {
  private struct Content: Equatable {
    var title: String?
    var text: String
    var key: DocumentKey?
    var attributes: Attributes
    var attachments: [String: [UInt8]] = [:]

    init(_ document: Document) {
      (title, text, key, attributes) = (document.title, document.text, document.key, document.attributes)
    }
  }

  /// The documents of a store by the names of their collections.
  private struct Model {
    var collections: [String: [DocumentID: Content]] = [:]

    var all: [DocumentID: Content] {
      collections.values.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
    }

    func collection(of id: DocumentID) -> String { collections.first { $0.value[id] != nil }!.key }

    mutating func change(_ id: DocumentID, _ body: (inout Content) -> Void) {
      body(&collections[collection(of: id)]![id]!)
    }

    mutating func remove(_ ids: some Sequence<DocumentID>) {
      for id in ids { collections[collection(of: id)]![id] = nil }
    }
  }

  private struct History {
    var random: Pseudorandom
    var model = Model()
    var count = 0
    var deleted: [(documents: DeletedDocuments, contents: [DocumentID: Content])] = []

    mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    mutating func commit(_ store: DocumentStore) throws {
      var copy = self
      do {
        try store.write { writer throws in
          for _ in 0...copy.number(5) { try copy.act(&writer) }
          if copy.number(3) == 0 { try expectAgreement(writer, copy.model) }
          if copy.number(6) == 0 { throw Interruption() }
        }
        self = copy
      } catch is Interruption {
        random = copy.random
      }
    }

    private mutating func document() -> Document {
      count += 1
      let titles = [nil, "title \(count)", "Ťitle \(count)", "題 \(count)"]
      return Document(
        title: titles[number(4)],
        text: "common \(count) " + String(repeating: "é", count: number(20) == 0 ? 40_000 : number(200)),
        key: number(3) == 0 ? DocumentKey("key \(count)") : nil,
        attributes: number(2) == 0 ? ["count": .number(Double(count))] : [:])
    }

    private mutating func act(_ writer: inout WriteTransaction) throws {
      let names = ["one", "two", "drei ß"]
      let name = names[number(3)]
      let collection = DocumentCollection(name)
      let id = model.all.keys.sorted().randomElement(using: &random)
      let member = model.collections[name, default: [:]].keys.sorted().randomElement(using: &random)
      switch number(20) {
      case 0, 1:
        let new = document()
        let place = [Placement.top, .bottom, member.map { .after($0) } ?? .top, member.map { .before($0) } ?? .top]
        let id = try writer.insert(new, into: collection, at: place[number(4)])
        model.collections[name, default: [:]][id] = Content(new)
      case 2:
        let new = (0..<number(90)).map { _ in document() }
        let before = try Set(writer.headers(in: collection).map(\.id))
        _ = try writer.insert(contentsOf: new, into: collection)
        let added = try writer.headers(in: collection).map(\.id).filter { !before.contains($0) }
        for (id, document) in zip(added.sorted(), new) {
          model.collections[name, default: [:]][id] = Content(document)
        }
      case 3, 4:
        guard let id else { return }
        let new = document()
        try writer.update(id) { document in
          (document.title, document.text, document.attributes) = (new.title, new.text, new.attributes)
        }
        model.change(id) { ($0.title, $0.text, $0.attributes) = (new.title, new.text, new.attributes) }
      case 5:
        guard let id else { return }
        let parent = model.collections[model.collection(of: id)]!.keys.sorted().randomElement(using: &random)!
        if parent != id, try writer.descendants(of: id).allSatisfy({ $0.id != parent }) {
          try writer.setParent(of: id, to: parent)
        }
      case 6:
        guard let id else { return }
        let gone = [id] + (try writer.descendants(of: id).map(\.id))
        try writer.delete(id, includingDescendants: true)
        model.remove(gone)
      case 7:
        guard let id else { return }
        let documents = try writer.deleteUndoably([id], includingDescendants: number(2) == 0)
        let all = model.all
        deleted.append((documents, Dictionary(uniqueKeysWithValues: documents.ids.map { ($0, all[$0]!) })))
        model.remove(documents.ids)
      case 8:
        guard !deleted.isEmpty else { return }
        let last = deleted.remove(at: number(deleted.count))
        let all = model.all
        guard last.contents.keys.allSatisfy({ all[$0] == nil }) else {
          expect(.alreadyExists) { try writer.restore(last.documents) }
          return
        }
        try writer.restore(last.documents)
        let named = Dictionary(uniqueKeysWithValues: try writer.collections().map { ($0.id, $0.name) })
        for (id, content) in last.contents {
          model.collections[named[try writer.header(of: id).collection]!, default: [:]][id] = content
        }
      case 9:
        guard let member, let other = model.collections[name]!.keys.sorted().randomElement(using: &random) else {
          return
        }
        try writer.move(member, to: [.top, .bottom, .before(other), .after(other)][number(4)])
      case 10:
        guard let id else { return }
        try writer.move(id, into: collection)
        let content = model.all[id]!
        model.remove([id])
        model.collections[name, default: [:]][id] = content
      case 11:
        guard let id else { return }
        count += 1
        let key = number(2) == 0 ? nil : DocumentKey("KEY \(count)")
        try writer.setKey(of: id, to: key)
        model.change(id) { $0.key = key }
      case 12, 13:
        guard let id else { return }
        try attach(to: id, &writer)
      case 14:
        guard let id, let attachment = try writer.attachments(of: id).randomElement(using: &random) else { return }
        switch number(3) {
        case 0:
          try writer.detach(attachment.id)
          model.change(id) { $0.attachments[attachment.name] = nil }
        case 1:
          count += 1
          let name = "renamed \(count).txt"
          try writer.rename(attachment.id, to: name)
          model.change(id) { $0.attachments[name] = $0.attachments.removeValue(forKey: attachment.name) }
        default:
          let bytes = Array("replaced \(count)".utf8)
          try writer.replace(attachment.id, with: .bytes(bytes))
          model.change(id) { $0.attachments[attachment.name] = bytes }
        }
      case 15:
        guard let id else { return }
        let copy = try writer.duplicate(id)
        var content = model.all[id]!
        content.key = nil
        model.collections[model.collection(of: id)]![copy] = content
      case 16: _ = try writer.sort(collection, by: number(2) == 0 ? .title : .id, descending: number(2) == 0)
      case 17:
        let inner = self
        #expect(throws: Interruption()) {
          try writer.savepoint { writer throws in
            for _ in 0..<3 { try act(&writer) }
            throw Interruption()
          }
        }
        (model, deleted) = (inner.model, inner.deleted)
      case 18:
        guard number(4) == 0, try writer.exists(collection) else { return }
        switch number(3) {
        case 0:
          try writer.drop(collection)
          model.collections[name] = nil
        case 1:
          _ = try writer.truncate(collection, restartingIDs: number(2) == 0)
          model.collections[name] = [:]
        default:
          let free = names.first { model.collections[$0] == nil }
          guard let free, try !writer.exists(DocumentCollection(free)) else { return }
          _ = try writer.rename(collection, to: free)
          model.collections[free] = model.collections.removeValue(forKey: name)
        }
      default:
        guard number(3) == 0, try writer.exists(collection) else { return }
        let indexes: [[DocumentIndex]] = [[], [.titles], [.words()], [.substrings], [.titles, .words(), .substrings]]
        _ = try writer.setIndexes(indexes[number(5)], of: collection)
      }
    }

    private mutating func attach(to id: DocumentID, _ writer: inout WriteTransaction) throws {
      count += 1
      let name = "file \(count).txt"
      let bytes = (0..<number(300)).map { UInt8($0 % 256) }
      try writer.attach(.bytes(bytes), to: id, name: name)
      model.change(id) { $0.attachments[name] = bytes }
    }
  }

  /// Expects that every call of a reader returns the model's documents.
  private static func expectAgreement(_ reader: borrowing some StoreReading & ~Copyable, _ model: Model) throws {
    let infos = try reader.collections()
    #expect(Set(infos.map(\.name)).isSuperset(of: model.collections.filter { !$0.value.isEmpty }.keys))
    var everyHeader: [DocumentHeader] = []
    for info in infos {
      let collection = DocumentCollection(info.name)
      let documents = model.collections[info.name] ?? [:]
      let headers = try reader.headers(in: collection)
      everyHeader += headers
      #expect(headers.count == documents.count && info.count == headers.count)
      #expect(try reader.count(in: collection) == headers.count)
      var listed: [DocumentHeader] = []
      try reader.forEachHeader(in: collection) { listed.append($0) }
      #expect(listed == headers)
      var page: [DocumentHeader] = []
      while case let next = try reader.headers(in: collection, after: page.last, limit: 7), !next.isEmpty {
        page += next
      }
      #expect(page == headers)
      #expect(try reader.headers(in: collection, offset: 3, limit: 5) == Array(headers.dropFirst(3).prefix(5)))
      var opened: [DocumentHeader] = []
      try reader.forEach(in: collection) { document throws in
        opened.append(document.header)
        let content = documents[document.header.id]
        #expect(document.text == content?.text)
        #expect(try document.attachments().count == content?.attachments.count)
      }
      #expect(opened == headers)
      #expect(try reader.search(for: .text("common"), in: collection).map(\.header) == headers)
      #expect(Set(try reader.ids(in: collection, sortedBy: .title)) == Set(documents.keys))
      let rows = try reader.query(
        "SELECT id, title, key, size, text FROM documents WHERE collection = ? ORDER BY position, id", info.name)
      #expect(try rows.map { try $0["id", as: Int64.self] } == headers.map(\.id.rawValue))
      #expect(try rows.map { try $0["title", as: String?.self] } == headers.map(\.title))
      for (index, header) in headers.enumerated() {
        let content = try #require(documents[header.id])
        try expectAgreement(reader, header, content)
        guard index % 8 == 0 else { continue }
        #expect(try reader.index(of: header.id) == index && reader.id(at: index, in: collection) == header.id)
      }
    }
    for header in everyHeader.prefix(10) {
      let children = everyHeader.filter { $0.parent == header.id }
      #expect(Set(try reader.children(of: header.id)) == Set(children))
    }
  }

  private static func expectAgreement(
    _ reader: borrowing some StoreReading & ~Copyable, _ header: DocumentHeader, _ content: Content
  ) throws {
    let id = header.id
    #expect(header.title == content.title && header.key == content.key && header.attributes == content.attributes)
    #expect(header.byteCount == content.text.utf8.count)
    #expect(header.attachmentCount == content.attachments.count)
    #expect(header.attachmentByteCount == content.attachments.values.reduce(0) { $0 + $1.count })
    #expect(try reader.exists(id) && reader.header(of: id) == header)
    #expect(try reader.withText(of: id) { $0.header } == header)
    #expect(try reader.text(of: id) == content.text)
    let document = try reader.document(id)
    #expect(document.text == content.text && document.title == content.title && document.key == content.key)
    let attachments = try reader.attachments(of: id)
    #expect(Set(attachments.map(\.name)) == Set(content.attachments.keys))
    for attachment in attachments.prefix(2) {
      #expect(try reader.content(of: attachment.id) == content.attachments[attachment.name])
    }
  }

  @Test(.slow, arguments: [false, true], 0..<CaseSample.count(1, ofLongRun: 20))
  func readsAgree(usesWriteAheadLog: Bool, seed: Int) throws {
    let test = try TestStore { $0.journal = usesWriteAheadLog ? .writeAheadLog : .rollback }
    var other: DocumentStore? = try test.reopened()
    var history = History(random: Pseudorandom(seed: UInt64(seed)))
    for round in 0..<CaseSample.count(25, ofLongRun: 60) {
      try history.commit(round % 3 == 2 ? other! : test.store)
      for store in [test.store, other!] { try store.read { try Self.expectAgreement($0, history.model) } }
      switch history.number(12) {
      case 0: _ = try test.store.rekey()
      case 1:
        try test.store.suspend(within: .seconds(10))
        test.store.resume()
      case 2: _ = try test.store.compact()
      case 3:
        try other!.close()
        other = try test.reopened()
      default: break
      }
    }
    try other!.close()
    try test.expectSound()
  }
}
