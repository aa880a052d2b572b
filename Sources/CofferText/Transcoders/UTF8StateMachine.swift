/// A branchless state machine for UTF-8, with one step for each byte (Unicode, table 3-7).
///
/// A state is a bit's number. A byte's word, shifted right by the state, contains the next state in its lowest six
/// bits. Higher bits are ignored, because a shift uses only six bits.
struct UTF8StateMachine: Sendable {
  /// A word for each byte value.
  let transitions: [UInt64]

  static let any = UTF8StateMachine(refusingNUL: false)
  static let withoutNUL = UTF8StateMachine(refusingNUL: true)

  /// The state between two characters.
  static let start: UInt64 = State.start.rawValue

  @inline(__always)
  static func isStart(_ state: UInt64) -> Bool { state & 63 == State.start.rawValue }

  /// Returns whether a fault was found. This state never changes.
  @inline(__always)
  static func isRefused(_ state: UInt64) -> Bool { state & 63 == State.refused.rawValue }

  private enum State: UInt64, CaseIterable {
    case refused = 0
    case start = 6
    /// The number of continuation bytes that must follow.
    case one = 12
    case two = 18
    case three = 24
    /// After these leads, the next byte has a smaller range.
    case afterE0 = 30
    case afterED = 36
    case afterF0 = 42
    case afterF4 = 48

    func next(_ byte: UInt8) -> State {
      switch (self, byte) {
      case (.start, 0x00..<0x80): .start
      case (.start, 0xC2..<0xE0): .one
      case (.start, 0xE0): .afterE0
      case (.start, 0xED): .afterED
      case (.start, 0xE1..<0xF0): .two
      case (.start, 0xF0): .afterF0
      case (.start, 0xF1..<0xF4): .three
      case (.start, 0xF4): .afterF4
      case (.one, 0x80..<0xC0): .start
      case (.two, 0x80..<0xC0), (.afterE0, 0xA0..<0xC0), (.afterED, 0x80..<0xA0): .one
      case (.three, 0x80..<0xC0), (.afterF0, 0x90..<0xC0), (.afterF4, 0x80..<0x90): .two
      default: .refused
      }
    }
  }

  private init(refusingNUL: Bool) {
    transitions = (0...255).map { (byte: UInt8) in
      guard byte != 0 || !refusingNUL else { return 0 }
      return State.allCases.reduce(0) { $0 | $1.next(byte).rawValue << $1.rawValue }
    }
  }
}
