import Foundation
import Glibc

/// Random texts of about 1 KiB, whose words are as unequally frequent as those of a language.
struct Texts {
  private static let vocabulary = 20_000
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func number(below bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(bound))
  }

  /// A word of medium frequency.
  mutating func word() -> String { Self.word(200 + number(below: 2000)) }

  mutating func next() -> String {
    var text = ""
    while text.utf8.count < 1000 {
      let fraction = Double(number(below: 1 << 30) + 1) / Double(1 << 30)
      text += Self.word(Int(pow(Double(Self.vocabulary), fraction))) + " "
    }
    return text
  }

  private static func word(_ rank: Int) -> String {
    let consonants = Array("bdfghklmnprstvz"), vowels = Array("aeiou")
    var (word, rest) = ("", rank)
    repeat {
      word.append(consonants[rest % 15])
      word.append(vowels[rest / 15 % 5])
      rest /= 75
    } while rest > 0
    return word
  }
}

/// Wall and CPU seconds of this process.
struct Usage {
  var wall = 0.0
  var cpu = 0.0

  init() {
    func seconds(_ clock: clockid_t) -> Double {
      var now = timespec()
      clock_gettime(clock, &now)
      return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
    (wall, cpu) = (seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID))
  }

  func since(_ other: Usage) -> Usage {
    var used = self
    (used.wall, used.cpu) = (wall - other.wall, cpu - other.cpu)
    return used
  }

  static var peakMegabytes: Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (Double(line.filter(\.isNumber)) ?? 0) / 1024
  }
}

/// A task that wants to wake every 5 ms. It is late while other tasks block the threads of the cooperative pool.
enum Heartbeat {
  /// Returns the sorted milliseconds by which it was late, until the task is canceled.
  static func latenesses() async throws -> [Double] {
    var late: [Double] = []
    let clock = ContinuousClock()
    while !Task.isCancelled {
      let due = clock.now + .milliseconds(5)
      guard (try? await Task.sleep(until: due, clock: clock)) != nil else { break }
      late.append((clock.now - due) / .milliseconds(1))
    }
    return late.sorted()
  }
}
