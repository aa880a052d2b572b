import Coffer
import CofferFoundation

/// The whole content of a sound store.
struct Content {
  struct Stored: Equatable {
    let header: DocumentHeader
    let text: [UInt8]
  }

  /// A document's attachments with their contents.
  typealias Attached = [(attachment: Attachment, content: [UInt8])]

  let collections: [CollectionInfo]
  /// The documents of each collection, in order.
  let listed: [String: [Stored]]
  let byID: [DocumentID: Stored]
  let attached: [DocumentID: Attached]
  let generation: UInt64
  let slots: [KeySlot]
  /// The rows of each question's answer; none for a store without indexes.
  let answers: [(question: Question, rows: [String])]

  init(_ store: DocumentStore) throws {
    let indexed = try store.read { reader in
      var names: [String] = []
      for collection in try reader.collections() {
        if try !reader.indexes(of: DocumentCollection(collection.name)).isEmpty { names.append(collection.name) }
      }
      return names
    }
    answers = try indexed.flatMap(Question.all).map { ($0, try $0.ask(store)) }
    slots = try store.keys.list()
    (collections, generation, listed, attached) = try store.read { reader in
      var listed: [String: [Stored]] = [:]
      var attached: [DocumentID: Attached] = [:]
      let collections = try reader.collections()
      for collection in collections {
        var documents: [Stored] = []
        try reader.forEach(in: DocumentCollection(collection.name)) { opened in
          documents.append(Stored(header: opened.header.withoutCounts, text: Array(opened.utf8)))
        }
        listed[collection.name] = documents
        for document in documents {
          attached[document.header.id] = try reader.attachments(of: document.header.id).map {
            ($0, try reader.content(of: $0.id))
          }
        }
      }
      return (collections, reader.generation, listed, attached)
    }
    byID = Dictionary(uniqueKeysWithValues: listed.values.joined().map { ($0.header.id, $0) })
  }

  /// The difference to other collections. Counts may be too low: SQLite counts by an index, which can hide rows until
  /// verify runs.
  func difference(to others: [CollectionInfo]) -> String {
    func names(_ infos: [CollectionInfo]) -> [String] {
      infos.map { "\($0.id) \($0.name) \($0.titleRule) \($0.foldsKeys)" }
    }
    if names(others) == names(collections) { return "counts missing" }
    return names(collections).filter(names(others).contains) == names(others)
      ? "collections missing" : "collections different"
  }

  var summary: Summary {
    Summary(
      documents: collections.flatMap { collection in
        listed[collection.name]!.map { stored in
          Summary.Entry(
            id: stored.header.id.rawValue, collection: collection.name, title: stored.header.title,
            key: stored.header.key.map { String(decoding: $0.bytes, as: UTF8.self) },
            parent: stored.header.parent?.rawValue, text: String(decoding: stored.text, as: UTF8.self))
        }
      })
  }
}

/// A search or query that an index answers.
struct Question {
  let name: String
  let ask: (DocumentStore) throws -> [String]

  static func all(_ name: String) -> [Question] {
    let collection = DocumentCollection(name)
    return [
      Question(name: "text in \(name)") { store in
        try store.read { try $0.search(for: .text("text"), in: collection) }.map { "\($0.header)" }
      },
      Question(name: "words in \(name)") { store in
        try store.read { try $0.search(ranked: "first OR more OR seven OR x*", in: collection) }.matches.map {
          "\($0.header) \($0.score) \($0.titleRanges) \($0.snippet?.text ?? "")"
        }
      },
      Question(name: "query of \(name)") { store in
        let sql = "SELECT id, bytes, title, text FROM \(name) WHERE bytes > 2 ORDER BY bytes, id"
        return try store.read { try $0.query(sql) }.rows.map { "\($0.values)" }
      },
    ]
  }
}

/// Opens one path again and again, and reads the store there in every way.
struct Reading {
  let url: URL
  let key: StoreKey
  private let options: OpenOptions

  init(at path: String, key: StoreKey) {
    url = URL(filePath: path)
    self.key = key
    var options = OpenOptions()
    options.allowsTestKeys = true
    options.textCacheBytes = 0
    self.options = options
  }

  func open() throws -> DocumentStore {
    try DocumentStore.open(at: url, key: key, options: options)
  }

  func find(_ finding: inout Finding, beside sound: Content) {
    do {
      let store = try open()
      finding.open = "ok"
      verify(store, &finding)
      do {
        try read(store, &finding, beside: sound)
      } catch {
        finding.others.append("read \(code(error))")
      }
      ask(store, &finding, beside: sound)
      do {
        if try store.keys.list() != sound.slots { finding.others.append("slots") }
      } catch {
        finding.others.append("slots \(code(error))")
      }
      try store.close()
    } catch {
      if finding.open.isEmpty { finding.open = code(error) } else { finding.others.append("close \(code(error))") }
    }
  }

  private func read(_ store: DocumentStore, _ finding: inout Finding, beside sound: Content) throws {
    try store.read { reader in
      if reader.generation != sound.generation { finding.others.append("generation") }
      if reader.documentCount != sound.byID.count { finding.others.append("count") }
      do {
        let found = try reader.collections()
        if found != sound.collections { finding.others.append(sound.difference(to: found)) }
      } catch {
        finding.others.append("collections \(code(error))")
      }
      for collection in sound.collections {
        let listing = list(reader, collection, beside: sound)
        let isWhole = listing.headers.isWhole && listing.texts.isWhole
        if !isWhole { finding.lists[collection.name] = listing }
        // In a large store, documents are read one by one only if their list is incomplete or verify names them.
        let (named, isSmall) = (Set(finding.named), sound.byID.count < 100)
        for stored in sound.listed[collection.name]!
        where isSmall || !isWhole || named.contains(stored.header.id.description) {
          get(reader, stored, in: collection.name, &finding)
          getAttachments(reader, of: stored.header.id, beside: sound, &finding)
        }
      }
    }
  }

  private func ask(_ store: DocumentStore, _ finding: inout Finding, beside sound: Content) {
    for (question, rows) in sound.answers {
      do {
        let found = try question.ask(store)
        guard found != rows else { continue }
        finding.answers[question.name] = found == rows.filter(found.contains) ? "missing" : "different"
      } catch {
        finding.answers[question.name] = code(error)
      }
    }
  }

  private func list(
    _ reader: borrowing ReadTransaction, _ info: CollectionInfo, beside sound: Content
  ) -> Finding.Listing {
    let collection = DocumentCollection(info.name)
    let expected = sound.listed[info.name]!
    var listing = Finding.Listing()
    var headers: [(DocumentID, isSame: Bool)] = []
    do {
      try reader.forEachHeader(in: collection) { header in
        headers.append((header.id, header.withoutCounts == sound.byID[header.id]?.header))
      }
    } catch {
      listing.headers.end = code(error)
    }
    listing.headers.compare(headers, with: expected)
    var texts: [(DocumentID, isSame: Bool)] = []
    do {
      try reader.forEach(in: collection) { opened in
        let stored = sound.byID[opened.header.id]
        let isSame = opened.header.withoutCounts == stored?.header && stored?.text.elementsEqual(opened.utf8) == true
        texts.append((opened.header.id, isSame))
      }
    } catch {
      listing.texts.end = code(error)
    }
    listing.texts.compare(texts, with: expected)
    return listing
  }

  private func get(
    _ reader: borrowing ReadTransaction, _ stored: Content.Stored, in collection: String, _ finding: inout Finding
  ) {
    let id = stored.header.id
    do {
      let isSame = try reader.withText(of: id) { opened in
        opened.header.withoutCounts == stored.header && stored.text.elementsEqual(opened.utf8)
      }
      if !isSame { finding.documents[id.description] = "different" }
    } catch {
      finding.documents[id.description] = code(error)
    }
    guard let key = stored.header.key else { return }
    do {
      let found = try reader.id(forKey: key, in: DocumentCollection(collection))
      if found != id { finding.keys[id.description] = found == nil ? "missing" : "different" }
    } catch {
      finding.keys[id.description] = code(error)
    }
  }

  private func getAttachments(
    _ reader: borrowing ReadTransaction, of id: DocumentID, beside sound: Content, _ finding: inout Finding
  ) {
    let expected = sound.attached[id] ?? []
    do {
      let found = try reader.attachments(of: id)
      let wanted = expected.map(\.attachment)
      if found != wanted {
        finding.attached[id.description] = found == wanted.filter(found.contains) ? "missing" : "different"
      }
    } catch {
      finding.attached[id.description] = code(error)
    }
    for (attachment, content) in expected {
      do {
        let isSame = try reader.attachment(attachment.id) == attachment && reader.content(of: attachment.id) == content
        if !isSame { finding.attachments[attachment.id.description] = "different" }
      } catch {
        finding.attachments[attachment.id.description] = code(error)
      }
    }
  }

  private func verify(_ store: DocumentStore, _ finding: inout Finding) {
    do {
      let verdict = try store.verify()
      finding.verify = verdict.error.map { $0.code == .setMismatch ? "mismatch" : $0.code.rawValue } ?? "ok"
      finding.named = verdict.damaged.map(\.id.description)
      finding.problems = verdict.problems
    } catch {
      finding.verify = "threw \(code(error))"
    }
  }

  private func code(_ error: any Error) -> String {
    (error as? StoreError)?.code.rawValue ?? "not a StoreError: \(type(of: error))"
  }
}

extension DocumentHeader {
  /// The header without what it counts of attachments. Damaged ones are counted without their bytes.
  fileprivate var withoutCounts: DocumentHeader {
    var header = self
    (header.attachmentCount, header.attachmentByteCount) = (0, 0)
    return header
  }
}

extension Finding.Walk {
  var isWhole: Bool { end == "ok" && different.isEmpty && missing.isEmpty }

  fileprivate mutating func compare(_ found: [(id: DocumentID, isSame: Bool)], with expected: [Content.Stored]) {
    let (ids, belonging) = (found.map(\.id), Set(expected.map(\.header.id)))
    different = found.filter { !$0.isSame || !belonging.contains($0.id) }.map(\.id.description)
    let present = Set(ids)
    missing = expected.map(\.header.id).filter { !present.contains($0) }.map(\.description)
    if different.isEmpty, ids != expected.map(\.header.id).filter(present.contains) { different = ["order"] }
    if end == "ok", !missing.isEmpty { end = "partial" }
  }
}
