import Coffer
import Glibc

/// The measured works: each does the same as in works.c, through the library's public interface.
struct Works {
  /// A number of documents that fit the library's cache of texts, and the other side's cache of pages.
  private static let again = 4000

  let store: DocumentStore
  let count: Int
  let samples: Samples
  let documents: DocumentCollection
  let notes: DocumentCollection

  init(store: DocumentStore, count: Int, samples: Samples) {
    self.store = store
    self.count = count
    self.samples = samples
    documents = DocumentCollection("documents")
    notes = DocumentCollection("notes")
  }

  /// Sets up a work, and returns the closure to time.
  func work(_ name: String) throws -> (() throws -> Void)? {
    switch name {
    case "insert": insert
    case "insert-each": insertEach
    case "insert-sequence": insertSequence
    case "commit": commit
    case "get": try get()
    case "get-again": try getAgain()
    case "get-each": try getEach()
    case "list": list
    case "pages": pages
    case "list-unproved": listUnproved
    case "read": read
    case "search": try search(.text("harbour"))
    case "search-folded": try search(.text("Harbour", ignoring: .case))
    case "search-regex": try search(.regularExpression("harb[aeiou]+r"))
    case "update": try update(5)
    case "update-new": try update(Int(try store.read { $0.generation }))
    case "move": try move()
    case "top": insertAtTop
    case "find": try find()
    case "key": changeKey
    case "rewrite": rekey
    case "verify": verify
    case "values": insertValues
    case "values-sequence": insertValueSequence
    case "values-get": try getValues()
    case "values-read": readValues
    case "values-put": try putValues()
    case "attached-few": attachToSome(1000)
    case "attached-many": attachToSome(10)
    case "attach": attach
    case "attach-read": try readAttachments()
    case "attach-range": try readRanges()
    default: nil
    }
  }

  private func insert() throws {
    try store.write { tx in
      let collection = samples.collectionCount == 1 ? documents : nil
      _ = try tx.insert(contentsOf: SampleSource(samples, count: count), into: collection)
    }
  }

  private func insertEach() throws {
    try store.write { tx in
      for number in 1...count { _ = try tx.insert(samples.document(number), into: documents) }
    }
  }

  private func insertSequence() throws {
    try store.write { tx in
      _ = try tx.insert(contentsOf: (1...count).lazy.map { samples.document($0) }, into: documents)
    }
  }

  private func insertAtTop() throws {
    try store.write { tx in
      for number in 1...count {
        _ = try tx.insert(samples.document(number, text: number + 1_000_000), into: documents, at: .top)
      }
    }
  }

  private func commit() throws {
    for number in 1...count {
      try store.write { tx in
        _ = try tx.insert(samples.document(number, text: number + 1_000_000), into: documents)
      }
    }
  }

  private func get() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count)
    return {
      try store.read { tx in
        var touched = 0
        for number in order { touched &+= try tx.withText(of: DocumentID(number)) { touch($0.utf8) } }
        keep(touched)
      }
    }
  }

  /// Reads documents again: the set-up reads each of them once.
  private func getAgain() throws -> () throws -> Void {
    let order = Array(Samples.randomOrder(try stored()).prefix(Self.again))
    let read = { (count: Int) throws in
      try store.read { tx in
        var touched = 0
        for number in 0..<count {
          touched &+= try tx.withText(of: DocumentID(order[number % order.count])) { touch($0.utf8) }
        }
        keep(touched)
      }
    }
    try read(order.count)
    return { try read(count) }
  }

  /// Opens a read transaction for each text, as ordinary code does.
  private func getEach() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count)
    return {
      var touched = 0
      for number in order { touched &+= try store.read { try $0.text(of: DocumentID(number)) }.utf8.count }
      keep(touched)
    }
  }

  private func list() throws {
    try store.read { tx in
      var touched = 0
      for collection in collections {
        try tx.forEachHeader(in: collection) { touched &+= $0.title?.utf8.count ?? 0 }
      }
      keep(touched)
    }
  }

  private var collections: [DocumentCollection] {
    (1...samples.collectionCount).map { DocumentCollection(samples.collection($0)) }
  }

  /// Opens a read transaction for each page of 50 headers.
  private func pages() throws {
    var touched = 0
    var last: DocumentHeader?
    while true {
      let page = try store.read { [last] in try $0.headers(in: documents, after: last, limit: 50) }
      for header in page { touched &+= header.title?.utf8.count ?? 0 }
      guard page.count == 50 else { break }
      last = page.last
    }
    keep(touched)
  }

  /// Lists titles without a key, as anyone with the file can; nothing is verified.
  private func listUnproved() throws {
    var touched = 0
    for header in try DocumentStore.clearHeaders(at: BenchFiles.store, collection: CollectionID(1)) {
      touched &+= header.title?.utf8.count ?? 0
    }
    keep(touched)
  }

  private func read() throws {
    try store.read { tx in
      var touched = 0
      for collection in collections {
        try tx.forEach(in: collection) { touched &+= touch($0.utf8) }
      }
      keep(touched)
    }
  }

  private func search(_ pattern: SearchPattern) throws -> () throws -> Void {
    { keep(try store.read { try $0.search(for: pattern, in: documents) }.count) }
  }

  /// - Parameter offset: a new one for each call gives new texts; an equal text would be no change.
  private func update(_ offset: Int) throws -> () throws -> Void {
    let changes = Samples.randomOrder(try stored()).prefix(count).map { (DocumentID($0), samples.text($0 + offset)) }
    return {
      try store.write { tx in
        for (id, text) in changes { try tx.update(id) { $0.text = text } }
      }
    }
  }

  /// Moves random documents, each next to another random one.
  private func move() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count + 1).map { DocumentID($0) }
    return {
      try store.write { tx in
        for (id, other) in zip(order, order.dropFirst()) { try tx.move(id, to: .after(other)) }
      }
    }
  }

  /// Finds documents by their keys, which the set-up gives them.
  private func find() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count)
    try store.write { tx in
      for number in order { try tx.setKey(of: DocumentID(number), to: DocumentKey("key \(number)")) }
    }
    return {
      try store.read { tx in
        for number in order { _ = try tx.id(forKey: DocumentKey("key \(number)"), in: documents) }
      }
    }
  }

  private func changeKey() throws {
    for _ in 1...count { _ = try store.keys.replace(with: .keyFile(BenchFiles.key)) }
  }

  private func rekey() throws {
    _ = try store.rekey(to: [.keyFile(BenchFiles.key)], options: RekeyOptions()) { _ in }
  }

  private func verify() throws {
    let verdict = try store.verify()
    guard verdict.isSound else { throw Unsound() }
  }

  private struct Unsound: Error {}

  private func insertValues() throws {
    try store.write { tx in
      for number in 1...count {
        _ = try tx.insert(
          samples.note(number, text: number), into: notes, key: DocumentKey("key \(number)"),
          attributes: samples.attributes(number))
      }
    }
  }

  private func insertValueSequence() throws {
    try store.write { tx in
      _ = try tx.insert(
        contentsOf: (1...count).lazy.map { NumberedNote(samples, $0) }, into: notes,
        key: { DocumentKey("key \($0.number)") }, attributes: { samples.attributes($0.number) })
    }
  }

  private func getValues() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count)
    return {
      try store.read { tx in
        var touched = 0
        for number in order {
          let note = try tx.value(Note.self, forKey: DocumentKey("key \(number)"), in: notes)
          touched &+= note!.body.utf8.count
        }
        keep(touched)
      }
    }
  }

  private func readValues() throws {
    keep(try store.read { try $0.values(Note.self, in: notes) }.count)
  }

  private func putValues() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count)
    return {
      try store.write { tx in
        for number in order {
          _ = try tx.put(
            samples.note(number, text: number + 5), into: notes, key: DocumentKey("key \(number)"),
            attributes: samples.attributes(number))
        }
      }
    }
  }

  /// Inserts documents, and attaches 4 KiB to every so many.
  private func attachToSome(_ step: Int) -> () throws -> Void {
    {
      try insert()
      try store.write { tx in
        for number in stride(from: step, through: count, by: step) {
          let content = samples.block[(number % 1000)...].prefix(4096)
          _ = try tx.attach(.bytes(content), to: DocumentID(number), name: "file")
        }
      }
    }
  }

  private func attach() throws {
    try store.write { tx in
      for number in 1...count {
        let id = try tx.insert(Document(title: samples.title(number), text: ""), into: documents)
        _ = try tx.attach(.bytes(samples.block[samples.textRange(number)]), to: id, name: "file")
      }
    }
  }

  /// The attachments of all documents, in the order in which they were attached.
  private func attachments() throws -> [Attachment] {
    try store.read { tx in
      try tx.headers(in: documents).flatMap { try tx.attachments(of: $0.id) }
    }
  }

  private func readAttachments() throws -> () throws -> Void {
    let attachments = try attachments().prefix(count)
    return {
      try store.read { tx in
        var touched = 0
        for attachment in attachments { try tx.forEachPart(of: attachment.id) { touched &+= touch($0) } }
        keep(touched)
      }
    }
  }

  private func readRanges() throws -> () throws -> Void {
    let attachments = try attachments()
    return {
      try store.read { tx in
        var random = SplitMix64(state: 3)
        var touched = 0
        for _ in 0..<count {
          let attachment = attachments[Int(random.next() % UInt64(attachments.count))]
          let start = Int(random.next() % UInt64(attachment.byteCount - 4096))
          let content = try tx.content(of: attachment.id, in: start..<start + 4096)
          touched &+= content.withUnsafeBytes { touch($0) }
        }
        keep(touched)
      }
    }
  }

  /// Waits for another process's update of `count` documents; returns the CPU seconds spent on noticing it.
  ///
  /// Polls that find nothing count; the time between two polls does not.
  func hear() async throws -> Double {
    let changes = store.changes(in: documents)
    write("listening", to: 1)
    let start = seconds(CLOCK_PROCESS_CPUTIME_ID)
    for try await change in changes {
      guard change.isComplete, change.updated.count == count else { throw Unsound() }
      break
    }
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - start
  }

  private func stored() throws -> Int {
    try store.read { try $0.collections().reduce(0) { $0 + $1.count } }
  }

  private func touch(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let first = bytes.first, let last = bytes.last else { return 0 }
    return Int(first) &+ Int(last) &+ bytes.count
  }
}

/// Uses a result, so that the compiler can't remove any of the work.
@inline(never)
func keep(_ value: Int) {
  BenchFiles.touched = value
}
