// coffer-bench: our side of the benchmark, `coffer-bench WORK STORE COUNT sealed|clear|none TEXT-BYTES COLLECTIONS
// 64|default`, `coffer-bench convert FILE ROUNDS`, and `coffer-bench indexes FOLDER DOCUMENTS ROWS ROUNDS`.
//
// Does: one piece of work on one store through the library, or converts a text; prints its wall and CPU seconds, set-up
// excluded. `changes` prints "listening", and then the CPU seconds of noticing another process's update, twice.
// Knows: the library's public interface, the published test key. Does not know: the other side (works.c).
// If the store does not exist, it is made, as a TEST store with the key file that COFFER_BENCH_KEY names.

import Coffer
import FoundationEssentials
import Glibc

enum BenchFiles {
  static let key = URL(filePath: ProcessInfo.processInfo.environment["COFFER_BENCH_KEY"] ?? "")
  static let store = URL(filePath: CommandLine.arguments.count > 2 ? CommandLine.arguments[2] : "")
  nonisolated(unsafe) static var touched = 0  // one thread writes it, nothing reads it
}

func seconds(_ clock: clockid_t) -> Double {
  var now = timespec()
  clock_gettime(clock, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}

func openStore(_ path: String, titles: CreateOptions.Titles, cache: String) throws -> DocumentStore {
  let url = URL(filePath: path)
  var options = OpenOptions()
  options.allowsTestKeys = true
  if cache == "64" { options.pageCacheBytes = 64 << 20 }
  if access(path, F_OK) == 0 {
    return try DocumentStore.open(at: url, key: .keyFile(BenchFiles.key), options: options)
  }
  var creation = CreateOptions()
  creation.titles = titles
  creation.isTest = true
  return try DocumentStore.create(at: url, keys: [.keyFile(BenchFiles.key)], creation: creation, options: options)
}

/// Writes a line at once, unbuffered.
func write(_ text: String, to descriptor: Int32) {
  let line = text + "\n"
  _ = line.utf8.withContiguousStorageIfAvailable { Glibc.write(descriptor, $0.baseAddress, $0.count) }
}

func stop(_ text: String, code: Int32) -> Never {
  write(text, to: 2)
  exit(code)
}

let arguments = CommandLine.arguments
let modes: [String: CreateOptions.Titles] = ["sealed": .sealed, "clear": .clear, "none": .none]
let usage =
  "usage: coffer-bench WORK STORE COUNT sealed|clear|none TEXT-BYTES COLLECTIONS 64|default, convert FILE ROUNDS, or indexes FOLDER DOCUMENTS ROWS ROUNDS"
guard arguments.count > 3, let count = Int(arguments[3]) else { stop(usage, code: 64) }

/// Wall and CPU seconds of a piece of work, in the printed form.
func times(of work: () throws -> Void) rethrows -> String {
  let (wall, cpu) = (seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID))
  try work()
  let times = [seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu]
  return times.map { String(Double(Int($0 * 1e6)) / 1e6) }.joined(separator: " ")
}

DocumentStore.disableMemoryStatistics()
do {
  if arguments[1] == "convert" {
    let conversion = try Conversion(file: arguments[2])
    print(try times { try conversion.run(rounds: count) })
    exit(0)
  }
  if arguments[1] == "indexes" {
    guard arguments.count == 6, let rows = Int(arguments[4]), let rounds = Int(arguments[5]) else {
      stop(usage, code: 64)
    }
    var bench = IndexBench(folder: URL(filePath: arguments[2]), documents: count, rows: rows, rounds: rounds)
    try bench.run()
    exit(0)
  }
  guard arguments.count == 8, let titles = modes[arguments[4]], let textByteCount = Int(arguments[5]),
    let collectionCount = Int(arguments[6]), ["64", "default"].contains(arguments[7])
  else { stop(usage, code: 64) }
  let store = try openStore(arguments[2], titles: titles, cache: arguments[7])
  let samples = Samples(textByteCount: textByteCount, collectionCount: collectionCount)
  let works = Works(store: store, count: count, samples: samples)
  if arguments[1] == "changes" {
    let spent = try await works.hear()
    print(spent, spent)
    exit(0)
  }
  guard let work = try works.work(arguments[1]) else { stop("coffer-bench: no work \(arguments[1])", code: 64) }
  let spent = try times(of: work)
  try store.close()
  print(spent)
} catch {
  stop("coffer-bench: \(error)", code: 1)
}
