internal import Coffer
internal import Foundation

/// The three versions of an app's type. Each one gained a member.
struct Note1: Codable, Sendable {
  var title: String
  var body: String
}

struct Note2: Codable, Sendable {
  var title: String
  var body: String
  var stars: Int?
}

struct Note3: Codable, Sendable {
  var title: String
  var body: String
  var stars: Int?
  var tags: [String]?
}

struct App {
  static let notes = DocumentCollection("notes")
  /// Words of several scripts. None is a part or another form of a different one.
  static let words =
    (10..<60).map { "wort\($0)" } + [
      "Straße", "Ärger", "Ünal", "привет", "мир", "λόγος", "世界", "東京", "แมว", "नमस्ते", "שלום", "سلام",
    ]
  private static let keys = 1500

  private let number: Int
  let (url, key): (URL, StoreKey)
  let log: FileHandle
  var version: Int
  var release: Int
  var store: DocumentStore

  init(_ number: Int, _ url: URL, _ key: StoreKey, log: FileHandle) throws {
    (self.number, self.url, self.key, self.log) = (number, url, key, log)
    (version, release) = (1 + number % 3, 0)
    store = try Self.start(url, key, &release, log)
  }

  static func create(_ url: URL, _ key: StoreKey, journal: CreateOptions.Journal, log: FileHandle) throws {
    var creation = CreateOptions()
    (creation.isTest, creation.journal) = (true, journal)
    var options = OpenOptions()
    options.allowsTestKeys = true
    let store = try DocumentStore.create(at: url, keys: [key], creation: creation, options: options)
    // All keys, so that the store grows little later.
    let (generation, lines) = try store.write { tx in
      var lines: [Line] = []
      for number in 0..<keys {
        let note = Note1(title: text(3), body: text(20))
        try tx.put(note, into: notes, key: DocumentKey("k\(number)"))
        lines.append(("k\(number)", ["title": note.title, "body": note.body]))
      }
      for number in 0..<cardKeys { lines.append(try put(Card1.self, "c\(number)", tx)) }
      return (tx.generation, lines)
    }
    try log.write(generation, lines)
    try store.close()
  }

  mutating func run(commits: Int) throws {
    for commit in 0..<commits {
      let twentieth = commit * 20 / commits
      if twentieth != (commit - 1) * 20 / commits { try restart(twentieth) }
      try asNewestRelease { try $0.write(commit) }
      if commit.isMultiple(of: 20) { try asNewestRelease { try $0.compare() } }
      if commit * 40 / commits != (commit - 1) * 40 / commits { try sample(commit) }
    }
    try sample(commits)
    try store.close()
  }

  static func text(_ count: Int) -> String {
    (0..<count).map { _ in words[Int.random(in: 0..<words.count)] }.joined(separator: " ")
  }

  // MARK: Commits

  private func write(_ commit: Int) throws {
    let count = Int.random(in: 0..<12) == 0 ? 10 : 1
    var edits: [(key: String, value: Note3, kind: Int)] = []
    for _ in 0..<count {
      let value = Note3(
        title: Self.text(3), body: Self.text(.random(in: 4..<34)),
        stars: Int.random(in: 0..<4) == 0 ? nil : .random(in: 0..<6),
        tags: Int.random(in: 0..<3) == 0 ? nil : [Self.text(1), Self.text(1)])
      edits.append(("k\(Int.random(in: 0..<Self.keys))", value, .random(in: 0..<14)))
    }
    let (version, number) = (version, number)
    let card = Bool.random() ? "c\(Int.random(in: 0..<Self.cardKeys))" : nil
    let (generation, lines) = try store.write { [edits] tx in
      var lines: [Line] = []
      for edit in edits {
        if let line = try Self.apply(edit.kind, edit.key, edit.value, version, tx) { lines.append(line) }
      }
      if let card { lines += try Self.editCard(card, version, tx) }
      // Each commit changes something, so it has a generation of its own.
      let own = Note1(title: "app \(number)", body: "commit \(commit)")
      try tx.put(own, into: Self.notes, key: DocumentKey(own.title))
      lines.append((own.title, ["title": own.title, "body": own.body]))
      return (tx.generation, lines)
    }
    try log.write(generation, lines)
  }

  /// Changes one document as a version of the app, and returns the members that are set.
  private static func apply(
    _ kind: Int, _ key: String, _ value: Note3, _ version: Int, _ tx: borrowing WriteTransaction
  ) throws -> Line? {
    let id = try tx.id(forKey: DocumentKey(key), in: notes)
    switch (kind, id) {
    case (0, let id?):
      try tx.delete(id)
      return (key, nil)
    case (1, let id?):
      try tx.move(id, to: .top)
      return nil
    case (10..., let id?):
      return (key, try attach(value.body.utf8.count, value, to: id, tx))
    case (2...5, let id?):
      return try (key, update(id, value, version, tx))
    default:
      switch version {
      case 1: try tx.put(Note1(title: value.title, body: value.body), into: notes, key: DocumentKey(key))
      case 2:
        try tx.put(
          Note2(title: value.title, body: value.body, stars: value.stars), into: notes, key: DocumentKey(key))
      default: try tx.put(value, into: notes, key: DocumentKey(key))
      }
      var members: [String: Any] = ["title": value.title, "body": value.body]
      if version > 1 { members["stars"] = value.stars ?? NSNull() }
      if version > 2 { members["tags"] = value.tags ?? NSNull() }
      return (key, members)
    }
  }

  private static func update(
    _ id: DocumentID, _ value: Note3, _ version: Int, _ tx: borrowing WriteTransaction
  ) throws -> [String: Any] {
    switch version {
    case 1:
      try tx.update(id, as: Note1.self) { $0.body = value.body }
      return ["body": value.body]
    case 2:
      try tx.update(id, as: Note2.self) { ($0.body, $0.stars) = (value.body, value.stars) }
      return ["body": value.body, "stars": value.stars ?? NSNull()]
    default:
      try tx.update(id, as: Note3.self) { ($0.stars, $0.tags) = (value.stars, value.tags) }
      return ["stars": value.stars ?? NSNull(), "tags": value.tags ?? NSNull()]
    }
  }

  // MARK: Comparisons

  /// Compares a search, a query and the counts with the documents of the same read.
  private func compare() throws {
    let (word, least) = (Self.text(1), Int.random(in: 0..<6))
    try store.read { tx in
      var (whole, inBody, rated, all) = (0, 0, 0, 0)
      for note in try tx.values(Note3.self, in: Self.notes) {
        let value = note.value
        let titled = Self.contains(value.title, word)
        let tagged = value.tags?.contains(word) == true
        if titled || Self.contains(value.body, word) { inBody += 1 }
        if titled || tagged || Self.contains(value.body, word) { whole += 1 }
        if let stars = value.stars, stars >= least { rated += 1 }
        all += 1
      }
      if let header = try tx.headers(in: Self.notes).randomElement() {
        _ = try Self.compareAttachments(of: header.id, tx)
      }
      guard try tx.count(in: Self.notes) == all else { throw Difference("the count") }
      for index in try tx.indexes(of: Self.notes) {
        switch index {
        case .words(let members, _):
          let found = try tx.search(ranked: RankedMatches.query(quoting: word), in: Self.notes, limit: 5).total
          let wanted = members.isEmpty ? whole : inBody
          guard found == wanted else { throw Difference("the ranked search for \(word): \(found) of \(wanted)") }
        case .field("stars", _, _):
          let found = try tx.query("SELECT count(*) FROM notes WHERE stars >= ?", least).rows[0][0].integer
          guard found == Int64(rated) else { throw Difference("the query: \(found ?? -1) of \(rated)") }
        case .titles:
          guard try tx.headers(in: Self.notes).count == all else { throw Difference("the list") }
        default: break
        }
      }
      try Self.compareCards(version, tx)
    }
  }

  private static func contains(_ text: String, _ word: String) -> Bool {
    text.split(separator: " ").contains(word[...])
  }

  struct Difference: Error, CustomStringConvertible {
    let description: String
    init(_ what: String) { description = "\(what) differs from the documents" }
  }

  // MARK: Log

  private func sample(_ commit: Int) throws {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    func number(_ name: String) -> Int {
      let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") } ?? ""
      return Int(line.filter(\.isNumber)) ?? 0
    }
    var now = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)
    let seconds = Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    try log.write(["commit": commit, "rss": number("VmRSS") / 1024, "threads": number("Threads"), "cpu": seconds])
  }
}

/// A document and the members that an edit set, or `nil` for a deletion.
typealias Line = (document: String, members: [String: Any]?)

extension FileHandle {
  func write(_ generation: UInt64, _ lines: [Line], migration: String? = nil) throws {
    var object: [String: Any] = [
      "generation": generation, "edits": lines.map { [$0.document, $0.members as Any? ?? NSNull()] as [Any] },
    ]
    object["migration"] = migration
    try write(object)
  }

  func write(_ object: [String: Any]) throws {
    try write(contentsOf: JSONSerialization.data(withJSONObject: object) + [0x0A])
  }
}
