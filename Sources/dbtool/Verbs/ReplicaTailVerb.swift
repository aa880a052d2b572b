internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferReplication

/// `replica tail OLD --since STATE`: writes the documents that changed after an earlier state.
struct ReplicaTailVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tail",
    abstract: "Write the documents that changed since an earlier state as NDJSON.",
    discussion: """
      After a failover, shows what the old machine's file has and the new branch lacks. Each line has one document's \
      changes ("inserted", "changed", "moved", "deleted") and, unless it was deleted, the document in the form of \
      'export'. All rows are proved first. Deletions are known while the file lists its transactions since, 180 or so. \
      Otherwise, the exit code is 3.

        dbtool replica tail old.coffer --since base.anchor > lost.ndjson
        dbtool replica tail old.coffer --since 1204
      """)

  @OptionGroup var options: StoreOptions

  @Option(
    help: ArgumentHelp(
      "The earlier state: a generation, or an anchor's line or file. The store must descend from the anchor.",
      valueName: "state"),
    completion: .file())
  var since: String

  @Flag(help: "List unreadable documents, and continue without them.")
  var skipDamaged = false

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The output file, readable only by you (default: standard output).", valueName: "path"),
    completion: .file())
  var output: String?

  @Flag(name: .shortAndLong, help: "Replace an existing output.")
  var force = false

  private enum State {
    case generation(UInt64)
    case anchor(StoreAnchor)
  }

  func validate() throws {
    if options.common.listFormat ?? .ndjson != .ndjson, options.common.listFormat != .json {
      throw ValidationError("'replica tail' writes NDJSON: leave out --format")
    }
  }

  private func state() throws -> State {
    if since.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt64(since) { return .generation(number) }
    return .anchor(try StoreAnchor(word: since))
  }

  func run() throws {
    let state = try state()
    let store = try options.open(readOnly: true)
    let path = output == InputFile.standardInput ? nil : output
    let file = try path.map {
      try OutputFile(
        at: $0, isForced: force, inputs: options.inputPaths + [since],
        permissions: OutputFile.privatePermissions)
    }
    do {
      let (tail, unread) = try Interrupt.deferring { try write(from: store, since: state, to: file) }
      try file?.commit()
      try store.close()
      try report(tail, unread, path: path)
    } catch {
      file?.discard()
      throw error
    }
  }

  /// Writes all lines from one read transaction.
  private func write(from store: DocumentStore, since state: State, to file: OutputFile?) throws
    -> (tail: StoreTail, unread: [(id: DocumentID, reason: String)])
  {
    let output = file.map { StandardOutput(to: $0) } ?? StandardOutput(readsAhead: true)
    var unread: [(id: DocumentID, reason: String)] = []
    let tail = try store.read { reader in
      let tail =
        switch state {
        case .generation(let number): try reader.tail(sinceGeneration: number, skippingDamage: skipDamaged)
        case .anchor(let anchor): try reader.tail(since: anchor, skippingDamage: skipDamaged)
        }
      let names = try Collections.names(in: reader)
      for entry in tail.entries {
        try Interrupt.check()
        do {
          try output.write(line: try line(for: entry, names, reader), isJSON: true)
        } catch let error as StoreError where error.code == .damaged && skipDamaged {
          unread.append((entry.id, error.message))
        }
      }
      let changed = tail.changedCollections.map { names[$0] ?? $0.description }.sorted()
      if !changed.isEmpty { options.common.diagnostics.note("collections changed: \(listed(changed))") }
      return tail
    }
    try output.flush()
    return (tail, unread)
  }

  private func line(
    for entry: StoreTail.Entry, _ names: [CollectionID: String], _ reader: borrowing ReadTransaction
  ) throws -> String {
    let name = names[entry.collection] ?? entry.collection.description
    let changes = StoreTail.Change.allCases.filter(entry.changes.contains).map { JSONValue.string($0.rawValue) }
    var members: [(String, JSONValue?)] = [("change", .array(changes)), ("id", .integer(entry.id.rawValue))]
    if entry.changes.contains(.deleted) {
      members.append(("collection", .string(name)))
    } else {
      let document: [UInt8] = try reader.withText(of: entry.id) { document in
        var sink = NDJSONSink(BufferSink())
        try sink.write(document, inCollection: name)
        try sink.finish()
        return sink.sink.bytes.last == UInt8(ascii: "\n") ? sink.sink.bytes.dropLast() : sink.sink.bytes
      }
      members.append(("document", .raw(document)))
    }
    return JSONValue.object(present: members).serialized
  }

  private func report(_ tail: StoreTail, _ unread: [(id: DocumentID, reason: String)], path: String?) throws {
    let diagnostics = options.common.diagnostics
    let count = tail.entries.count
    let place = path.map { " written to \($0)" } ?? ""
    diagnostics.note("\(counted(count, "document")) changed since generation \(tail.since)\(place)")
    for damaged in tail.damaged.map({ (id: $0.id, reason: $0.reason) }) + unread {
      diagnostics.finding("document \(damaged.id) was left out: \(damaged.reason)")
    }
    if !tail.isProved, tail.damaged.isEmpty {
      diagnostics.finding("the documents are not the set that was written: some are missing, older or changed")
    }
    if !tail.namesDeletions {
      diagnostics.warning(
        "deleted documents are not known: the file no longer lists its transactions since generation \(tail.since)")
    }
    guard tail.namesDeletions, tail.isProved, unread.isEmpty else { throw Outcome(.partlyDone) }
  }
}

/// A sink that keeps the bytes in memory.
private struct BufferSink: ByteSink {
  var bytes: [UInt8] = []

  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    self.bytes += bytes
  }
}
