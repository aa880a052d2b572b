// Opens stores as an app would, one after the other, and reports their documents and problems.
//
//   coffer-reopen KEY-FILE…        for each line of standard input one line of JSON on standard output
//
// `look PATH`: the key files that open the store, its documents, and the problems that verify finds. `go-on PATH`:
// completes an interrupted rekey, writes a document and deletes it again. Does not know the expected documents:
// Tools/harnesses/power-loss does.

import Coffer
import Foundation

struct Answer: Encodable {
  /// The indices of the key files that open the store, from 0.
  var keys: [Int] = []
  /// Id, title and text, sorted by id.
  var documents: [Found] = []
  var problems: [String] = []

  struct Found: Encodable {
    let id: Int64
    let title: String?
    let text: String
  }
}

let keyFiles = CommandLine.arguments.dropFirst().map { URL(filePath: $0) }

func open(_ path: String, _ key: URL) throws -> DocumentStore {
  var options = OpenOptions()
  options.allowsTestKeys = true
  return try DocumentStore.open(at: URL(filePath: path), key: .keyFile(key), options: options)
}

func look(_ path: String) -> Answer {
  var answer = Answer()
  for (index, key) in keyFiles.enumerated() {
    do {
      let store = try open(path, key)
      let verdict = try store.verify()
      if let error = verdict.error { answer.problems.append("verify: \(error) \(verdict.problems)") }
      answer.documents = try documents(of: store)
      try store.close()
      answer.keys.append(index)
    } catch let error as StoreError where error.code == .cannotUnlock {
      continue
    } catch {
      answer.problems.append("\(error)")
    }
  }
  return answer
}

func documents(of store: DocumentStore) throws -> [Answer.Found] {
  var found: [Answer.Found] = []
  try store.read { reader in
    for collection in try reader.collections() {
      try reader.forEach(in: collection.handle) { document in
        found.append(
          Answer.Found(
            id: document.header.id.rawValue, title: document.header.title,
            text: String(decoding: document.utf8, as: UTF8.self)))
      }
    }
  }
  return found.sorted { $0.id < $1.id }
}

func goOn(_ path: String) -> Answer {
  var answer = Answer()
  do {
    guard let store = keyFiles.lazy.compactMap({ try? open(path, $0) }).first else { return answer }
    let before = try documents(of: store).count
    if try !store.rekeyStatus().isFinished {
      var options = RekeyOptions()
      options.isResuming = true
      let report = try store.rekey(options: options, progress: { _ in })
      if !report.isFinished { answer.problems.append("the rekey stays unfinished") }
    }
    let id = try store.write { try $0.insert(Document(title: "t", text: "after"), into: DocumentCollection("after")) }
    if try store.read({ try $0.text(of: id) }) != "after" { answer.problems.append("what was written is not there") }
    try store.write { try $0.delete(id) }
    if let error = try store.verify().error { answer.problems.append("verify, later: \(error)") }
    if try documents(of: store).count != before { answer.problems.append("documents were lost on the way") }
    try store.close()
  } catch {
    answer.problems.append("it does not go on: \(error)")
  }
  return answer
}

let encoder = JSONEncoder()
while let line = readLine() {
  let words = line.split(separator: " ", maxSplits: 1).map(String.init)
  let answer = words[0] == "look" ? look(words[1]) : goOn(words[1])
  print(String(decoding: try encoder.encode(answer), as: UTF8.self))
  fflush(nil)
}
