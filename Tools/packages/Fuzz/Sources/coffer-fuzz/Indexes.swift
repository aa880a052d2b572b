internal import Foundation

@testable internal import Coffer
@testable internal import CofferEngine
@testable internal import CofferRecords
@testable internal import CofferSQLite
@testable internal import CofferSearch

private let path = "\(directory)/indexed.coffer"
private let url = URL(filePath: path)
private let notes: DocumentCollection = "notes"

/// A small store with every kind of index, made once.
private let template: [UInt8] = {
  do {
    let store = try DocumentStore.create(
      at: url, keys: [.keyFile(fuzzKeyURL)], creation: fuzzCreation, options: fuzzOptions)
    try store.write { tx in
      for number in 1...20 {
        _ = try tx.insert(
          Document(title: "Title \(number)", text: "sealed store number \(number) ä😀"), into: notes, at: .bottom)
      }
    }
    try store.write { tx in
      _ = try tx.setIndexes([.words(), .substrings, .titles, .field("bytes", "@size", as: .number)], of: notes)
    }
    try store.close()
  } catch {
    fatalError("no store: \(error)")
  }
  return bytes(of: path)
}()

private func open() -> DocumentStore {
  guard let store = try? DocumentStore.open(at: url, key: .keyFile(fuzzKeyURL), options: fuzzOptions) else {
    fatalError("the store can't be opened")
  }
  return store
}

/// Inner pages that a holder of the keys edits: errors or answers, and every document as it was.
func readEditedIndexes(_ input: [UInt8]) {
  write(template, to: path)
  let store = open()
  var slices = Slices(input)
  do {
    try store.engine.writing { transaction throws(StoreError) in
      for part in IndexPart.all {
        try edit(part, &slices, transaction)
      }
      try transaction.commit()
    }
    try store.close()
  } catch {
    fatalError("the pages can't be edited: \(error)")
  }
  let edited = open()
  for question in [
    { _ = try edited.read { try $0.search(ranked: "sealed OR ti*", in: notes) } },
    { _ = try edited.read { try $0.search(for: .text("store"), in: notes) } },
    { _ = try edited.read { try $0.query("SELECT bytes, title FROM notes WHERE bytes > 3 ORDER BY bytes") } },
    {
      _ = try edited.read {
        try $0.query("SELECT count(*) FROM notes n JOIN \"notes.match\"('sealed') m ON m.id = n.id")
      }
    },
    { _ = try edited.read { tx in try tx.headers(in: notes) } }, { _ = try edited.verify() },
    { _ = try edited.write { tx in try tx.update(2) { $0.title = "changed" } } },
    { _ = try edited.read { try $0.search(ranked: "changed", in: notes) } }, { _ = try edited.updateIndexes() },
  ] as [() throws -> Void] {
    do { try question() } catch is StoreError {} catch { fatalError("not an error of the store: \(error)") }
  }
  let text = try? edited.read { tx in try tx.text(of: 1) }
  precondition(text == "sealed store number 1 ä😀", "an index changed a document")
  guard (try? edited.write { _ = try $0.setIndexes([], of: notes) }) != nil, (try? edited.verify().isSound) == true,
    (try? edited.close()) != nil
  else { fatalError("the store is not sound without its indexes") }
}

/// Writes some bytes of some pages of one index, sealed and summed as a writer does.
private func edit(_ part: UInt32, _ slices: inout Slices, _ transaction: StoreTransaction) throws(StoreError) {
  guard let found = try StoreIndexes(transaction).root(part) else { fatalError("no index") }
  try transaction.keys.beginIndexRun(transaction.connection.nonceSource)
  let pages = IndexPages(found.root, transaction.database, transaction.keys, .inStore)
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: pages.pageSize, alignment: 16)
  defer { memory.deallocate() }
  do {
    for _ in 0..<Int(slices.byte() % 4) {
      let page = Int(slices.byte()) % pages.pageCount
      try pages.read(page, into: memory)
      for byte in slices.part().enumerated() {
        // Most bytes that SQLite takes for structure are at a page's beginning.
        let offset = byte.offset % 3 == 0 ? Int(slices.byte()) : Int(slices.byte()) << 5 | Int(slices.byte()) & 31
        memory[offset % (pages.pageSize - IndexPages.reservedBytes)] = byte.element
      }
      try pages.write(page, UnsafeRawBufferPointer(memory))
    }
  } catch {
    fatalError("a page can't be written: \(error)")
  }
  guard let contents = found.root.contents else { fatalError("an index without contents") }
  try pages.finish(contents)
  try IndexTables(transaction.database).put(pages.root, transaction.keys)
}

private let opened: DocumentStore = {
  write(template, to: path)
  return open()
}()

/// Words of any text for a ranked search: matches or an error, and the file as it was.
func searchForWords(_ input: [UInt8]) {
  let store = opened
  let words = String(decoding: input, as: UTF8.self)
  do {
    let found = try store.read { try $0.search(ranked: words, in: notes) }
    precondition(found.matches.count <= found.total, "more matches than there are")
  } catch let error as StoreError {
    precondition([.invalidArgument, .tooLarge].contains(error.code), "\(error)")
    precondition(words.utf8.count < 100 || !error.message.contains(words), "an error quotes the words")
  } catch {
    fatalError("not an error of the store: \(error)")
  }
  precondition(bytes(of: path) == template, "a search wrote")
}
