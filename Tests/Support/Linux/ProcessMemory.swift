import CofferPlatform
import Foundation

/// The memory of another process, which root can search.
///
/// Unlike a core dump, the search covers every readable page, including pages excluded from dumps.
package struct ProcessMemory {
  /// Whether this process can read the memory of a process that forbids tracing.
  package static let isReadable = getuid() == 0 && FileManager.default.fileExists(atPath: "/proc/self/mem")

  private let process: Int32

  package init(of process: Int32) {
    self.process = process
  }

  /// Returns the names of the needles found in the memory of the process.
  package func found(_ needles: [String: [UInt8]]) throws -> Set<String> {
    let memory = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    defer { close(memory) }
    // Reads to the end, because files in /proc don't report a size.
    let list = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(process)/maps")).readToEnd() ?? Data()
    var found: Set<String> = []
    for line in String(decoding: list, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words[1].hasPrefix("r"), words.last != "[vvar]", words.last != "[vsyscall]" else { continue }
      let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      // Skips the shadow memory of sanitizers, which is larger than any region of the program.
      guard ends[1] - ends[0] < 1 << 30 else { continue }
      let region = Self.read(memory, from: ends[0], to: ends[1])
      for (name, needle) in needles where !found.contains(name) {
        let isThere = region.withUnsafeBytes { region in needle.withUnsafeBytes { Self.contains(region, $0) } }
        if isThere { found.insert(name) }
      }
    }
    return found
  }

  private static func contains(_ region: UnsafeRawBufferPointer, _ needle: UnsafeRawBufferPointer) -> Bool {
    var start = region.baseAddress!
    let end = start + (region.count - needle.count)
    while start <= end, let first = memchr(start, Int32(needle[0]), end - start + 1) {
      if memcmp(first, needle.baseAddress!, needle.count) == 0 { return true }
      start = UnsafeRawPointer(first) + 1
    }
    return false
  }

  /// Returns the bytes of a region, with zeros for unreadable pages.
  private static func read(_ memory: Int32, from start: UInt, to end: UInt) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(end - start)) { buffer, count in
      count = buffer.count
      var offset = 0
      while offset < count {
        let wanted = min(count - offset, 1 << 20)
        let got = pread(memory, buffer.baseAddress! + offset, wanted, off_t(start) + off_t(offset))
        if got > 0 {
          offset += got
        } else {
          let page = min(wanted, 4096)
          memset(buffer.baseAddress! + offset, 0, page)
          offset += page
        }
      }
    }
  }
}
