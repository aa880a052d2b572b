// One of the processes of Tools/harnesses/lifetime: an app that writes to a shared store for a long time, in turn as its
// versions 1, 2 and 3, and compares searches and queries with the documents.
//
//   coffer-app create rollback|wal STORE KEY LOG    makes the store, with documents
//   coffer-app NUMBER COMMITS STORE KEY LOG         makes that many commits, as 20 releases with a migration each
//   coffer-app attachments all STORE KEY            prints a JSON line for each document with attachments: its key, and
//                                                   the attachments by their names
//
// Writes a JSON line to LOG for each commit and migration: its place among all commits, and the documents with the
// members that it set (null for a member that it removed) or with null for a deletion. An attachment is a member whose
// name begins with @; its value describes the content. #schema is the schema version of a versioned value. Now and then,
// a line has the process's memory, its threads, and its CPU seconds.

internal import Coffer
internal import Foundation

let arguments = CommandLine.arguments
guard arguments.count == (arguments.dropFirst().first == "attachments" ? 5 : 6) else {
  FileHandle.standardError.write(
    Data("usage: coffer-app NUMBER|create|attachments COMMITS|JOURNAL|all STORE KEY [LOG]\n".utf8))
  exit(64)
}
let (store, key) = (URL(filePath: arguments[3]), StoreKey.keyFile(URL(filePath: arguments[4])))

do {
  if arguments[1] == "attachments" {
    try App.printAttachments(store, key)
    exit(0)
  }
  _ = FileManager.default.createFile(atPath: arguments[5], contents: nil)
  let log = try FileHandle(forWritingTo: URL(filePath: arguments[5]))
  if arguments[1] == "create" {
    try App.create(store, key, journal: arguments[2] == "wal" ? .writeAheadLog : .rollback, log: log)
  } else {
    guard let number = Int(arguments[1]), let commits = Int(arguments[2]) else { exit(64) }
    var app = try App(number, store, key, log: log)
    try app.run(commits: commits)
  }
} catch {
  FileHandle.standardError.write(Data("coffer-app \(arguments[1]): \(error)\n".utf8))
  exit(1)
}
