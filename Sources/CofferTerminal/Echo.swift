internal import CofferPlatform

/// Turns off the terminal's echo while the user types a passphrase.
///
/// Call ``restore()`` when the question ends. Signal handlers restore the echo if the process stops or ends earlier.
package struct Echo {
  private let descriptor: Int32

  // The former settings. A signal handler can read only plain memory.
  nonisolated(unsafe) private static let former = UnsafeMutablePointer<termios>.allocate(capacity: 1)
  // The descriptor of the terminal with changed settings, or -1. The thread that asks writes it before it changes the
  // settings, and after it restores them.
  nonisolated(unsafe) private static var offDescriptor: Int32 = -1

  package init(_ descriptor: Int32) throws {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { throw TerminalError.failed(errno: errno) }
    Self.former.initialize(to: settings)
    Self.offDescriptor = descriptor
    self.descriptor = descriptor
  }

  /// Turns off the echo.
  ///
  /// - Parameter droppingInput: Whether to discard input that was typed earlier.
  package func turnOff(droppingInput: Bool = false) throws {
    var settings = Self.former.pointee
    settings.c_lflag &= ~tcflag_t(ECHO)
    settings.c_lflag |= tcflag_t(ICANON | ISIG)
    // The kernel stops a background process here until its shell continues it in the foreground.
    repeat {
      Suspension.begin()
      while tcsetattr(descriptor, droppingInput ? TCSAFLUSH : TCSADRAIN, &settings) != 0 {
        guard errno == EINTR else { throw TerminalError.failed(errno: errno) }
      }
    } while Suspension.hasEnded
  }

  package func restore() {
    tcsetattr(descriptor, TCSANOW, Self.former)
    Self.offDescriptor = -1
  }

  static func restoreInSignalHandler() {
    if offDescriptor >= 0 {
      tcsetattr(offDescriptor, TCSANOW, former)
    }
  }
}
