import CofferPlatform
import Foundation

/// A terminal with a person at it who reads what is shown and types answers.
package final class PseudoTerminal {
  private let master: Int32
  package let path: String
  /// All that was read. A read may end within a character.
  private var bytes: [UInt8] = []

  package var shown: String { String(decoding: bytes, as: UTF8.self) }

  package init() throws {
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var number: Int32 = 0
    var isLocked: Int32 = 0
    // The calls of unlockpt and ptsname: TIOCSPTLCK and TIOCGPTN of asm-generic/ioctls.h.
    guard master >= 0, ioctl(master, 0x4004_5431, &isLocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
      throw POSIXError(.EIO)
    }
    path = "/dev/pts/\(number)"
  }

  deinit {
    close(master)
  }

  /// Reads until something is shown.
  ///
  /// - Returns: false when the other side is gone before.
  package func waitFor(_ text: String) -> Bool {
    let start = bytes.count
    while !String(decoding: bytes[start...], as: UTF8.self).contains(text) {
      guard readMore() else { return false }
    }
    return true
  }

  package func type(_ text: String, end: String = "\n") {
    _ = (text + end).utf8.withContiguousStorageIfAvailable { write(master, $0.baseAddress, $0.count) }
  }

  /// Reads until the other side is gone.
  package func readToEnd() {
    while readMore() {}
  }

  private func readMore() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { read(master, $0.baseAddress, $0.count) }
    guard count > 0 else { return false }
    bytes += buffer[..<count]
    return true
  }
}

extension PseudoTerminal {
  package func turnEchoOn() {
    let slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(slave) }
    var settings = termios()
    tcgetattr(slave, &settings)
    settings.c_lflag |= tcflag_t(ECHO)
    tcsetattr(slave, TCSANOW, &settings)
  }

  /// Whether what is typed is shown.
  package var echoes: Bool {
    let slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(slave) }
    var settings = termios()
    tcgetattr(slave, &settings)
    return settings.c_lflag & tcflag_t(ECHO) != 0
  }
}
