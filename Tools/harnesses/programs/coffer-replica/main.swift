// Writes a store that is replicated, or reads the copies of one, for Tools/replicate.
//
// usage: coffer-replica write STORE KEY-FILE RATE SEED [SOCKET MILLISECONDS]
//            one commit after the other, RATE a second, until a signal; confirms through SOCKET in the given interval
//        coffer-replica read FOLDER KEY-FILE SECONDS
//            opens FOLDER/current, reads every document, and opens it again when it is superseded
// Prints a line for each event, with the time in seconds since 1970, and ends with 1 after an error.

internal import Coffer
internal import CofferReplication
internal import Foundation

/// Prints one line at once: the process may be killed at any moment.
func say(_ line: String) {
  let bytes = Array("\(Date().timeIntervalSince1970) \(line)\n".utf8)
  _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

func fail(_ error: some Error) -> Never {
  say("error \(error)")
  exit(1)
}

let words = CommandLine.arguments
do {
  switch words.dropFirst().first {
  case "write" where words.count == 6 || words.count == 8:
    let writer = try ReplicatedWriter(store: words[2], key: words[3], seed: UInt64(words[5]) ?? 1)
    if words.count == 8 { writer.confirm(by: words[6], every: Double(words[7]) ?? 100) }
    try writer.run(rate: Double(words[4]) ?? 60)
  case "read" where words.count == 5:
    try await readCopies(in: words[2], key: words[3], seconds: Double(words[4]) ?? 1)
  default:
    print("usage: coffer-replica write STORE KEY-FILE RATE SEED [SOCKET MILLISECONDS]")
    print("       coffer-replica read FOLDER KEY-FILE SECONDS")
    exit(64)
  }
} catch {
  fail(error)
}
