// What the sanitizers must find, and must not: `planted mutex|race|freed`.
//
// mutex: four threads count under a Mutex, sound; race: the same beside it; freed: memory read after its end.

import Dispatch
import Glibc
import Synchronization

final class Counts: @unchecked Sendable {
  // `raced` is what is planted; `guarded` is behind the mutex.
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
