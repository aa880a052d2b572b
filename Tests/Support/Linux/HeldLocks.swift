package import Foundation

/// The locks of files that processes hold, as Linux lists them (proc_locks(5)).
package enum HeldLocks {
  /// Returns the lines of `/proc/locks` for the files of a folder. Locks of all kinds and processes are listed.
  package static func ofFiles(in folder: URL) throws -> [String] {
    let manager = FileManager.default
    let numbers = Set(
      try manager.contentsOfDirectory(atPath: folder.path).compactMap { name in
        try manager.attributesOfItem(atPath: folder.appending(path: name).path)[.systemFileNumber] as? Int
      })
    // A line such as "1: POSIX  ADVISORY  READ 41 00:1b:7 128 128" has the file's number after the device's.
    return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").filter { line in
      line.split(separator: " ").contains { word in
        let parts = word.split(separator: ":")
        return parts.count == 3 && Int(parts[2]).map { numbers.contains($0) } == true
      }
    }.map(String.init)
  }
}
