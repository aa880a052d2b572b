internal import Coffer
internal import CofferSQLite
internal import Foundation

private let path = "\(directory)/store.coffer"
private let url = URL(filePath: path)

/// A small store, made once: two collections, five documents.
private let template: [UInt8] = {
  do {
    // A query must not take all memory.
    _ = try Database(":memory:", mode: .create).query("PRAGMA hard_heap_limit=268435456")
    let store = try DocumentStore.create(
      at: url, keys: [.keyFile(fuzzKeyURL)], creation: fuzzCreation, options: fuzzOptions)
    try store.write { tx in
      for number in 1...5 {
        var document = Document(title: "Title \(number)", text: #"{"n":\#(number),"t":"ä😀"}"#)
        document.key = number == 2 ? "key" : nil
        _ = try tx.insert(document, into: DocumentCollection(number < 4 ? "one" : "two"))
      }
    }
    try store.close()
  } catch {
    fatalError("no store: \(error)")
  }
  return bytes(of: path)
}()

let fuzzKeyURL = URL(filePath: ProcessInfo.processInfo.environment["COFFER_FUZZ_KEY"] ?? "")
private let keyFile = StoreKey.keyFile(fuzzKeyURL)

let fuzzCreation: CreateOptions = {
  var creation = CreateOptions()
  creation.isTest = true
  return creation
}()

let fuzzOptions: OpenOptions = {
  var options = OpenOptions()
  options.allowsTestKeys = true
  return options
}()

/// Replaces one field that a reader uses before it verifies a key: then the key must not open the store.
func openStore(_ input: [UInt8]) {
  let fields = [
    ("coffer_header", "format"), ("coffer_header", "store_id"), ("coffer_header", "incompat"),
    ("coffer_header", "ro_compat"), ("coffer_header", "compat"), ("coffer_header", "titles"),
    ("coffer_header", "rk_generation"), ("coffer_header", "rk_commit"), ("coffer_header", "keyring"),
    ("coffer_header", "mac"), ("coffer_slot", "slot"), ("coffer_slot", "kind"), ("coffer_slot", "label"),
    ("coffer_slot", "params"), ("coffer_slot", "wrapped"), ("coffer_state", "sealed"), ("coffer_header", "phase"),
  ]
  var slices = Slices(input)
  let (table, column) = fields[Int(slices.byte()) % fields.count]
  let type = slices.byte() % 3
  let value: SQLiteValue =
    type == 0 ? .integer(slices.number()) : type == 1 ? .blob(slices.all()) : .text(slices.text())
  write(template, to: path)
  do {
    let database = try Database(path)
    let stored = { try database.query("SELECT \(column) FROM \(table)").rows[0][0] }
    let before = try stored()
    // The table refuses a value of another type than the column's.
    guard (try? database.execute("UPDATE \(table) SET \(column)=?", value)) != nil else { return }
    // The column stores a text of digits as a number.
    guard try stored() != before else { return }
    try database.close()
  } catch {
    fatalError("the template cannot be changed: \(error)")
  }
  _ = try? DocumentStore.info(at: url)
  _ = try? DocumentStore.check(at: url)
  if let store = try? DocumentStore.open(at: url, key: keyFile, options: fuzzOptions) {
    preconditionFailure("\(store) opened with another \(column)")
  }
}

private let opened: DocumentStore = {
  _ = template
  guard let store = try? DocumentStore.open(at: url, key: keyFile, options: fuzzOptions) else { fatalError("no store") }
  return store
}()

/// A query of any text: rows or an error, and the file as it was.
func queryStore(_ input: [UInt8]) {
  let store = opened
  try? store.read { tx in
    try tx.withQuery(String(decoding: input, as: UTF8.self), timeLimit: .milliseconds(100)) { rows in
      var count = 0
      while count < 1000, try rows.next() != nil { count += 1 }
    }
  }
  precondition(bytes(of: path) == template, "a query wrote")
  let names = (try? FileManager.default.contentsOfDirectory(atPath: directory))?.sorted()
  precondition(names == ["store.coffer"], "a query made a file")
}
