// Runs random histories of devices that sync by a folder, and judges their ends.
//
//   coffer-sync KEY-FILE FOLDER KIND FIRST COUNT [--log]
//
// KIND is a name of SimulatedHistory.Kind. Each history has a folder of its own below FOLDER, which is removed. Prints a
// line for each history that ends wrong, and a line with the number of histories at the end. --log shows what happened in
// wrong histories, or in any if COUNT is 1. If the library entropy.c is loaded before the C library, a history is the same
// each time.

import Coffer
import CofferSyncSimulation
import Foundation

let words = CommandLine.arguments
guard words.count >= 6, let kind = SimulatedHistory.Kind(rawValue: words[3]), let first = UInt64(words[4]),
  let count = UInt64(words[5])
else {
  print("usage: coffer-sync KEY-FILE FOLDER KIND FIRST COUNT [--log]")
  exit(64)
}
let showsLog = words.contains("--log")
let begin = dlsym(nil, "coffer_begin").map { unsafeBitCast($0, to: (@convention(c) (UInt64, Int64) -> Void).self) }
var options = OpenOptions()
options.allowsTestKeys = true
options.creation.isTest = true
var faults = 0

for seed in first..<first + count {
  let place = URL(filePath: words[2]).appending(path: "\(kind)-\(seed)")
  try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: place) }
  let outcome = SimulatedHistory.outcome(
    seed, kind, in: place, key: .keyFile(URL(filePath: words[1])), openOptions: options
  ) { begin?($0, $1.millisecondsSince1970) }
  if let fault = outcome.fault {
    faults += 1
    print("seed \(seed): \(fault)")
  }
  if showsLog, outcome.fault != nil || count == 1 { print(outcome.log.map { "  " + $0 }.joined(separator: "\n")) }
}
print("\(count) histories, \(faults) wrong")
exit(faults == 0 ? 0 : 1)
