// One of the processes of Tools/harnesses/crowd's bank: opens the store, does one kind of work in some threads until
// its time is over, and prints its counts and findings as JSON.
//
//   coffer-bank found rollback|wal STORE KEY…      makes the store with its accounts
//   coffer-bank ROLE SECONDS STORE KEY…            ROLE: transfer, read, rekey, backup, compact, audit
//   coffer-bank hold 0 STORE KEY…                  holds a transaction open, and then the store, until it reads a line

internal import Coffer
internal import Foundation
internal import Synchronization

let arguments = CommandLine.arguments
guard arguments.count >= 5 else {
  FileHandle.standardError.write(Data("usage: coffer-bank ROLE SECONDS|JOURNAL STORE KEY...\n".utf8))
  exit(64)
}
let (role, path, keys) = (arguments[1], arguments[3], arguments[4...].map { URL(filePath: $0) })

if role == "found" {
  try Bank.found(at: path, key: keys[0], journal: arguments[2] == "wal" ? .writeAheadLog : .rollback)
  exit(0)
}

let end = ContinuousClock.now + .seconds(Double(arguments[2]) ?? 0)
let tally = Tally()

/// Runs `work` in that number of threads until the time is over. Documented errors of concurrent work are only counted.
func together(_ threads: Int, _ work: @escaping @Sendable (_ thread: Int, _ round: Int) throws -> Void) {
  let group = DispatchGroup()
  for thread in 0..<threads {
    group.enter()
    Thread.detachNewThread {
      var round = 0
      while ContinuousClock.now < end {
        tally.count { try work(thread, round) }
        round += 1
      }
      group.leave()
    }
  }
  group.wait()
}

do {
  let bank = try Bank(path, keys: keys)
  let known = Mutex([Bank.Snapshot](repeating: Bank.Snapshot(), count: 2))
  switch role {
  case "transfer":
    together(2) { thread, _ in
      let from = Int64.random(in: Bank.accounts)
      let to = Int64.random(in: Bank.accounts)
      guard from != to else { return }
      let name = "\(getpid())-\(thread)"
      try bank.transfer(.random(in: 1...9), from: from, to: to, by: name)
      tally.acknowledge(name)
    }
  case "read":
    together(2) { thread, _ in
      let last = known.withLock { $0[thread] }
      let snapshot = try bank.snapshot()
      try snapshot.check(after: last)
      known.withLock { $0[thread] = snapshot }
      // In the rollback journal a commit waits for readers: eight that never rest would leave it no moment.
      usleep(4_000)
    }
  case "rekey":
    var options = RekeyOptions()
    options.batchSize = 5
    together(1) { [options] _, round in
      _ = try bank.store.rekey(to: [.keyFile(keys[(round + 1) % keys.count])], options: options) { _ in }
      usleep(200_000)
    }
  case "backup":
    together(1) { _, _ in
      let copy = path + "-copy.coffer"
      try DocumentStore.backup(at: URL(filePath: path), to: URL(filePath: copy), replacing: true, wait: .seconds(30))
      let store = try Bank(copy, keys: keys)
      let last = known.withLock { $0[0] }
      let snapshot = try store.snapshot()
      try snapshot.check(after: last)
      known.withLock { $0[0] = snapshot }
      guard try store.store.verify().isSound else { throw Finding("a copy is not sound") }
      try store.store.close()
    }
  case "compact":
    together(1) { _, _ in
      try DocumentStore.compact(at: URL(filePath: path), wait: .seconds(30))
      usleep(500_000)
    }
  case "hold":
    try bank.hold {
      print("ready")
      fflush(nil)
      _ = readLine()
    }
  case "audit":
    tally.count {
      let snapshot = try bank.snapshot()
      try snapshot.check(after: Bank.Snapshot())
      guard try bank.store.verify().isSound else { throw Finding("the store is not sound") }
      snapshot.counts.forEach { tally.acknowledge($0.key, $0.value) }
    }
  default: exit(64)
  }
  try bank.store.close()
} catch {
  tally.fail("\(role): \(error)")
}
tally.report()
