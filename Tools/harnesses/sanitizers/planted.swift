// Planted errors that the sanitizers must report, and a sound program that they must not: `planted mutex|race|freed`.
//
// mutex: four threads count under a Mutex, which is sound; race: they count without it, too; freed: reads freed memory.

import Dispatch
import Glibc
import Synchronization

final class Counts: @unchecked Sendable {
  // The planted race is on `raced`; the mutex guards `guarded`.
  let mutex = Mutex(())
  var guarded = 0
  var raced = 0
}

let counts = Counts()
let isRacing = CommandLine.arguments.last == "race"
if CommandLine.arguments.last == "freed" {
  let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)
  memory.initialize(to: 1)
  memory.deallocate()
  print(memory.pointee)
}
let group = DispatchGroup()
for _ in 0..<4 {
  DispatchQueue.global().async(group: group) {
    for _ in 0..<20_000 {
      counts.mutex.withLock { _ in counts.guarded += 1 }
      if isRacing { counts.raced += 1 }
    }
  }
}
group.wait()
exit(counts.guarded == 80_000 ? 0 : 1)
