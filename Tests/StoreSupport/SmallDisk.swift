import Foundation

/// An in-memory file system of a given size, which is unmounted with its last user.
final class SmallDisk {
  private let place: Workplace
  let url: URL

  static let isPossible: Bool = (try? SmallDisk(kilobytes: 64)) != nil

  init(kilobytes: Int) throws {
    place = try Workplace()
    url = place.file("disk")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    try Self.run(["mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k", "none", url.path])
  }

  deinit {
    // A lazy unmount detaches the path immediately, and the disk when its last file is closed.
    try? Self.run(["umount", "--lazy", url.path])
  }

  /// Mounts the file system as read-only.
  ///
  /// Tries again while another test starts a process. Between fork and exec, the new process has this process's files
  /// open, and a file system with a file that is open for writing can't become read-only.
  func makeReadOnly() throws {
    for _ in 0..<1000 {
      if (try? Self.run(["mount", "-o", "remount,ro", url.path])) != nil { return }
    }
    try Self.run(["mount", "-o", "remount,ro", url.path])
  }

  private static func run(_ command: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Interruption() }
  }
}
