// coffer-server: a server with many tasks on one store, and the same server on GRDB.
//
//   coffer-server coffer|grdb load FOLDER TASKS ROUNDS       each task writes, reads, searches and counts in turn
//   coffer-server coffer|grdb long FOLDER TASKS ROUNDS       the same, but searches and counts in each 100th round only
//   coffer-server coffer|grdb heartbeat FOLDER TASKS ROUNDS  the same, beside a task that wakes every 5 ms
//   coffer-server coffer|grdb readers FOLDER TASKS ROUNDS    each task searches, after 1,000 commits
//   coffer-server coffer|grdb pages FOLDER 1 ROUNDS          reads pages of 50 messages of a thread, with texts
//   coffer-server coffer|grdb mail FOLDER 1 ROUNDS           the same, finds words, marks as read and counts unread
//
// Prints a JSON object: wall and CPU seconds, the peak memory in MiB, and the milliseconds by which the heartbeat was
// late. A server's store begins with 5,000 documents of 1 KiB. Both sides keep a write-ahead log and an index of words.
// Knows: the library's public interface. Does not know: how results are compared (Tools/bench).

import Foundation

let arguments = CommandLine.arguments
guard arguments.count == 6, let tasks = Int(arguments[4]), let rounds = Int(arguments[5]) else {
  FileHandle.standardError.write(
    Data("usage: coffer-server coffer|grdb load|long|heartbeat|readers|pages|mail FOLDER TASKS ROUNDS\n".utf8))
  exit(64)
}
let folder = URL(filePath: arguments[3])

if arguments[2] == "pages" || arguments[2] == "mail" {
  do {
    try useMail(onlyReadsPages: arguments[2] == "pages")
    exit(0)
  } catch {
    fail(error)
  }
}

do {
  let server: any Server =
    switch arguments[1] {
    case "coffer": try CofferServer(in: folder)
    default: try GRDBServer(in: folder)
    }
  var texts = Texts(seed: 7)
  try await server.fill((0..<5000).map { _ in texts.next() })
  if arguments[2] == "readers" { try await server.write(each: (0..<1000).map { _ in texts.next() }) }

  let before = Usage()
  let heartbeat = arguments[2] == "heartbeat" ? Task.detached { try await Heartbeat.latenesses() } : nil
  try await withThrowingTaskGroup(of: Void.self) { group in
    for task in 0..<tasks {
      let (onlySearches, interval) = (arguments[2] == "readers", arguments[2] == "long" ? 100 : 1)
      group.addTask {
        var texts = Texts(seed: UInt64(100 + task))
        for round in 0..<rounds {
          if onlySearches {
            _ = try await server.search(texts.word())
            continue
          }
          let id = try await server.write(texts.next())
          _ = try await server.text(of: texts.number(below: Int(id)) + 1)
          guard (round + task).isMultiple(of: interval) else { continue }
          _ = try await server.search(texts.word())
          _ = try await server.count()
        }
      }
    }
    try await group.waitForAll()
  }
  let used = Usage().since(before)
  heartbeat?.cancel()
  let late = try await heartbeat?.value ?? []
  try await server.close()

  var report: [String: Double] = [
    "wall": used.wall, "cpu": used.cpu, "peak": Usage.peakMegabytes,
  ]
  if !late.isEmpty {
    report["median"] = late[late.count / 2]
    report["latest"] = late[late.count - 1]
  }
  print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
} catch {
  fail(error)
}

func useMail(onlyReadsPages: Bool) throws {
  var texts = Texts(seed: 7)
  let mail = (0..<CofferMailbox.count).map { _ in texts.next() }
  let mailbox: any Mailbox =
    arguments[1] == "coffer" ? try CofferMailbox(in: folder, mail) : try GRDBMailbox(in: folder, mail)
  let before = Usage()
  for _ in 0..<rounds {
    _ = try mailbox.page(before: 500 + texts.number(below: CofferMailbox.count - 500))
    if onlyReadsPages { continue }
    _ = try mailbox.find(texts.word())
    try mailbox.markRead(texts.number(below: CofferMailbox.count) + 1)
    _ = try mailbox.unread()
  }
  let used = Usage().since(before)
  try mailbox.close()
  let report = ["wall": used.wall, "cpu": used.cpu, "peak": Usage.peakMegabytes]
  print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
}

func fail(_ error: any Error) -> Never {
  FileHandle.standardError.write(Data("coffer-server: \(error)\n".utf8))
  exit(1)
}
