internal import ArgumentParser
internal import Coffer

/// `ls STORE`: lists a collection's headers in order, without opening texts.
struct ListVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List documents: id, title, size, date.",
    discussion: """
      Lists id, title, size in bytes and date of the last change, without opening texts. -l adds key, creation date, \
      attributes and the number of attachments.

        dbtool ls texts.coffer --key-file my.key
        dbtool ls texts.coffer -c notes --sort modified -rn 10
        dbtool ls texts.coffer --keyless -c '#2'
      """)

  enum Order: String, CaseIterable, ExpressibleByArgument {
    case position, id, title, modified, size
  }

  @OptionGroup var options: StoreOptions

  @OptionGroup var choice: CollectionChoice

  @Flag(name: .customShort("l"), help: "List every header field.")
  var long = false

  @Option(
    name: .customShort("n", allowingJoined: true), parsing: .unconditional,
    help: ArgumentHelp("List at most this many documents.", valueName: "n"))
  var limit: Int?

  @Option(help: ArgumentHelp("The sort order.", valueName: "order"))
  var sort: Order = .position

  @Flag(name: .shortAndLong, help: "Reverse the order.")
  var reverse = false

  @Flag(help: "List clear titles without a key. Collections have numbers ('#2'), and size and date are missing.")
  var keyless = false

  func validate() throws {
    if (limit ?? 0) < 0 { throw ValidationError("-n takes a number from 0") }
    if keyless, sort != .position || reverse || long {
      throw ValidationError("--keyless lists by position; the facts that -l and --sort need are sealed")
    }
  }

  func run() throws {
    if keyless { return try listKeyless() }
    let store = try options.open(readOnly: true)
    var table: TableWriter?
    try store.read { reader in
      let names = try choice.names(in: reader, of: store)
      let fields = HeaderField.columns(
        long ? HeaderField.long : HeaderField.short, of: names, as: options.common.listFormat)
      table = TableWriter(
        columns: fields.map(\.column), format: options.common.listFormat)
      if sort == .position, !reverse {
        try listInOrder(names, reader) { header, name in
          try table?.add(fields.map { $0.value(in: header, of: name) })
        }
      } else {
        for (header, name) in try sorted(names, reader) {
          try table?.add(fields.map { $0.value(in: header, of: name) })
        }
      }
    }
    try store.close()
    try table?.finish()
  }

  private func listInOrder(
    _ names: [String], _ reader: borrowing ReadTransaction, _ body: (DocumentHeader, String) throws -> Void
  ) throws {
    var left = limit ?? .max
    for name in names where left > 0 {
      try reader.forEachHeader(in: DocumentCollection(name), limit: left) { header in
        try body(header, name)
        left -= 1
      }
    }
  }

  private func sorted(
    _ names: [String], _ reader: borrowing ReadTransaction
  ) throws -> ArraySlice<(DocumentHeader, String)> {
    var headers: [(DocumentHeader, String)] = []
    for name in names {
      try reader.forEachHeader(in: DocumentCollection(name)) { headers.append(($0, name)) }
    }
    switch sort {
    case .position: break  // Headers are read in this order.
    case .id: headers.sort { $0.0.id < $1.0.id }
    case .title: headers.sort { Self.precedes($0.0, $1.0) }
    case .modified: headers.sort { ($0.0.modified, $0.0.id) < ($1.0.modified, $1.0.id) }
    case .size: headers.sort { ($0.0.byteCount, $0.0.id) < ($1.0.byteCount, $1.0.id) }
    }
    if reverse { headers.reverse() }
    return headers.prefix(limit ?? .max)
  }
}

extension ListVerb {
  /// Compares titles by code point, like `sort`. Documents without a title come first.
  private static func precedes(_ header: DocumentHeader, _ other: DocumentHeader) -> Bool {
    let (title, next) = (header.title?.utf8, other.title?.utf8)
    guard let title, let next else { return title == nil && (next != nil || header.id < other.id) }
    return title.elementsEqual(next) ? header.id < other.id : title.lexicographicallyPrecedes(next)
  }
}

// MARK: - Without a key

extension ListVerb {
  private func listKeyless() throws {
    let wait = options.store.access.waitingTime()
    let info = try DocumentStore.info(at: options.store.url, wait: wait)
    try options.store.requireExpected(info.pin)
    guard info.titles == .clear else {
      throw Failure(
        .keyNeeded, kind: "key-needed", "the titles of \(options.store.path) are not in clear",
        hint: "list it with a key")
    }
    var columns: [TableWriter.Column] = [.init(name: "id", isNumber: true), .init(name: "title", isNumber: false)]
    let showsCollection =
      info.collections.count > 1 && choice.collection == nil || !TableWriter.isTable(options.common.listFormat)
    if showsCollection { columns.append(.init(name: "collection", isNumber: false)) }
    var table = TableWriter(columns: columns, format: options.common.listFormat)
    try DocumentStore.forEachClearHeader(
      at: options.store.url, in: try keylessCollections(info), limit: limit ?? .max, wait: wait
    ) { header in
      let cells: [JSONValue?] = [.integer(header.id.rawValue), header.title.map { .string($0) }]
      try table.add(showsCollection ? cells + [.string(header.collection.description)] : cells)
    }
    try table.finish()
  }

  /// Returns the chosen collections, or `nil` for all collections.
  private func keylessCollections(_ info: StoreInfo) throws -> [CollectionID]? {
    let numbers = info.collections.map(\.0.description).joined(separator: ", ")
    guard let collection = choice.collection else { return nil }
    guard collection.hasPrefix("#"), let number = UInt32(collection.dropFirst()) else {
      throw Failure.usage("without a key, collections have numbers only: -c '#1'")
    }
    guard let found = info.collections.first(where: { $0.0 == CollectionID(number) }) else {
      throw Failure(
        .noDocument, kind: "no-such-collection", "there is no collection #\(number)",
        hint: numbers.isEmpty ? nil : "there are \(numbers)")
    }
    return [found.0]
  }
}
