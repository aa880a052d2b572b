// coffer-judge: reports the library's results on a store that is damaged in many ways, one after the other:
// `coffer-judge STORE KEY-FILE DIRECTORY`.
//
// Does: takes a line of edits on standard input, makes them in its own copy of the store, opens the copy and reads all
// of it in every way, undoes the edits, and answers with a line of JSON.
// Knows: the library's public interface, the content of the sound store. Does not know: which answer is right;
// Tools/harnesses/flips does. A line of edits is the file's length, then OFFSET:BYTES (hex) for each place. DIRECTORY
// is for the copy alone.

import Coffer
import CofferFoundation
import CofferPlatform

func stop(_ text: String, code: Int32) -> Never {
  let line = text + "\n"
  _ = line.utf8.withContiguousStorageIfAvailable { write(2, $0.baseAddress, $0.count) }
  exit(code)
}

func answer(_ finding: some Encodable, by encoder: JSONEncoder) throws {
  var line = try encoder.encode(finding)
  line.append(UInt8(ascii: "\n"))
  try line.withUnsafeBytes { bytes in
    var done = 0
    while done < bytes.count {
      let count = write(1, bytes.baseAddress! + done, bytes.count - done)
      guard count > 0 else { throw WorkFile.Failed(call: "write", number: errno) }
      done += count
    }
  }
}

let arguments = CommandLine.arguments
guard arguments.count == 4 else { stop("usage: coffer-judge STORE KEY-FILE DIRECTORY", code: 64) }

DocumentStore.disableMemoryStatistics()
do {
  let file = try WorkFile(copying: arguments[1], into: arguments[3])
  let reading = Reading(at: file.path, key: .keyFile(URL(filePath: arguments[2])))
  let sound = try Content(reading.open())
  let encoder = JSONEncoder()
  encoder.outputFormatting = .sortedKeys
  try answer(sound.summary, by: encoder)
  while let line = readLine() {
    guard let edit = Edit(line) else { stop("coffer-judge: not a line of edits", code: 64) }
    try file.make(edit)
    var finding = Finding()
    let cpu = seconds(CLOCK_PROCESS_CPUTIME_ID)
    reading.find(&finding, beside: sound)
    finding.seconds = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu
    finding.left = try file.undo(edit)
    try answer(finding, by: encoder)
  }
} catch {
  stop("coffer-judge: \(error)", code: 1)
}

func seconds(_ clock: clockid_t) -> Double {
  var now = timespec()
  clock_gettime(clock, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
