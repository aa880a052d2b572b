import Coffer

/// What is measured: each work as plain.c does it, through the library as an app uses it.
struct Works {
  /// So many documents fit the cache of texts, and a cache of pages on the other side.
  private static let again = 4000

  let store: DocumentStore
  let count: Int
  let samples = Samples()
  let documents: DocumentCollection

  init(store: DocumentStore, count: Int) {
    self.store = store
    self.count = count
    self.documents = store.collection("documents")
  }

  /// Every work's set-up runs when it is asked for; the closure that comes back is what is timed.
  func work(_ name: String) throws -> (() throws -> Void)? {
    switch name {
    case "insert": insert
    case "insert-each": insertEach
    case "commit": commit
    case "get": try get()
    case "get-again": try getAgain()
    case "list": list
    case "list-unproved": listUnproved
    case "read": read
    case "search": try search(.text("harbour"))
    case "search-folded": try search(.text("Harbour", ignoringCase: true))
    case "search-regex": try search(.regularExpression("harb[aeiou]+r"))
    case "update": try update()
    case "move": try move()
    case "top": insertAtTop
    case "find": try find()
    case "key": changeKey
    case "rewrite": rekey
    default: nil
    }
  }

  private func insert() throws {
    try store.write { tx in
      _ = try tx.insert(contentsOf: SampleSource(samples, count: count), into: documents, options: BulkOptions())
    }
  }

  private func insertEach() throws {
    try store.write { tx in
      for number in 1...count {
        _ = try tx.insert(Document(title: samples.title(number), text: samples.text(number)), into: documents)
      }
    }
  }

  private func insertAtTop() throws {
    try store.write { tx in
      for number in 1...count {
        _ = try tx.insert(
          Document(title: samples.title(number), text: samples.text(number + 1_000_000)), into: documents, at: .top)
      }
    }
  }

  private func commit() throws {
    for number in 1...count {
      try store.write { tx in
        _ = try tx.insert(
          Document(title: samples.title(number), text: samples.text(number + 1_000_000)), into: documents)
      }
    }
  }

  private func get() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count)
    return {
      try store.read { tx in
        var touched = 0
        for number in order {
          touched &+= try tx.withText(of: DocumentID(number)) { touch($0.utf8) }
        }
        keep(touched)
      }
    }
  }

  /// Documents that were read before: once each, before the clock starts.
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

  private func list() throws {
    try store.read { tx in
      var touched = 0
      try tx.forEachHeader(in: documents) { touched &+= $0.title?.utf8.count ?? 0 }
      keep(touched)
    }
  }

  /// As anybody can who has the file: no key, nothing proved.
  private func listUnproved() throws {
    var touched = 0
    try DocumentStore.forEachClearHeader(at: BenchFiles.store, collection: CollectionID(1)) {
      touched &+= $0.title?.utf8.count ?? 0
    }
    keep(touched)
  }

  private func read() throws {
    try store.read { tx in
      var touched = 0
      try tx.forEach(in: documents) { touched &+= touch($0.utf8) }
      keep(touched)
    }
  }

  private func search(_ pattern: SearchPattern) throws -> () throws -> Void {
    { keep(try store.search(for: pattern, in: documents).count) }
  }

  private func update() throws -> () throws -> Void {
    let changes = Samples.randomOrder(try stored()).prefix(count).map { (DocumentID($0), samples.text($0 + 5)) }
    return {
      try store.write { tx in
        for (id, text) in changes {
          try tx.update(id) { $0.text = text }
        }
      }
    }
  }

  /// Each document beside another one, both at random.
  private func move() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count + 1).map { DocumentID($0) }
    return {
      try store.write { tx in
        for (id, other) in zip(order, order.dropFirst()) { try tx.move(id, to: .after(other)) }
      }
    }
  }

  /// By the key that each is given before.
  private func find() throws -> () throws -> Void {
    let order = Samples.randomOrder(try stored()).prefix(count)
    try store.write { tx in
      for number in order { try tx.setKey(of: DocumentID(number), to: ExternalKey("key \(number)")) }
    }
    return {
      try store.read { tx in
        for number in order { _ = try tx.id(forKey: ExternalKey("key \(number)"), in: documents) }
      }
    }
  }

  private func changeKey() throws {
    for _ in 1...count {
      _ = try store.keys.replace(slot: nil, with: .keyFile(BenchFiles.key), label: nil)
    }
  }

  private func rekey() throws {
    _ = try store.rekey(to: [.keyFile(BenchFiles.key)], options: RekeyOptions()) { _ in }
  }

  private func stored() throws -> Int {
    try store.read { try $0.count(in: documents) }
  }

  private func touch(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let first = bytes.first, let last = bytes.last else { return 0 }
    return Int(first) &+ Int(last) &+ bytes.count
  }
}

/// Uses a result, so that nothing of the work can be left out.
@inline(never)
func keep(_ value: Int) {
  BenchFiles.touched = value
}
