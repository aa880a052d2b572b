/// A deterministic automaton for a pattern, built lazily. A state is added when a text first reaches it.
///
/// Each scalar takes a single step, with any pattern, so texts can't slow down the search. A state is the set of
/// program steps that may be active, with the preceding scalar's traits. A match is reported one scalar after its end.
/// Use it on one thread at a time.
final class LazyAutomaton {
  /// The transition table's size. When the table is full, the automaton drops all states and rebuilds the states that
  /// it reaches.
  private static let capacity = 1 << 18
  /// The rows reserved for the start states of runs, with one row for each combination of traits before the start.
  private static let reserve = 16
  private static let unknown: Int32 = -1

  private struct State: Hashable {
    /// The active steps, in ascending order.
    var waiting: [Int32]
    var before: ScalarAlphabet.Traits
  }

  private let program: PatternProgram
  private let alphabet: ScalarAlphabet
  /// Whether a match can begin anywhere, instead of only at the start of a run.
  private let isFloating: Bool
  private let width: Int
  private let rowLimit: Int
  /// For each state and class, twice the offset of the next state's row, plus one if a match ends before this scalar.
  private let transitions: UnsafeMutablePointer<Int32>
  private var states: [State] = []
  private var offsets: [State: Int32] = [:]
  private var forgottenCount = 0
  /// The state inside a line before a match begins.
  private var idle: Int32 = 0
  /// The state at a text's beginning.
  private var begin: Int32 = 0
  private let skip: UnsafeMutablePointer<Bool>
  /// A scan for the bytes that leave the idle state and the bytes after them, or `nil` if there are too many.
  private(set) var scan: PairScan?
  private var marks: [Int]
  private var mark = 0
  private var stack: [Int] = []

  init(_ program: PatternProgram, isFloating: Bool) {
    self.program = program
    self.isFloating = isFloating
    alphabet = program.alphabet
    width = program.alphabet.classCount
    rowLimit = max(Self.capacity / width, 4 * Self.reserve)
    transitions = .allocate(capacity: rowLimit * width)
    skip = .allocate(capacity: 256)
    skip.initialize(repeating: false, count: 256)
    marks = Array(repeating: 0, count: program.steps.count)
    forget()
    findSkips()
  }

  deinit {
    transitions.deallocate()
    skip.deallocate()
  }

  // MARK: Running

  /// Returns whether the pattern matches anywhere in a text, which must be valid UTF-8.
  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    var state = begin
    var index = 0
    while index < text.count {
      if state == idle {
        index = nextCandidate(in: text, from: index)
        guard index < text.count else { break }
      }
      let number = alphabet.classOf(UTF8Scalars.scalar(text, &index))
      let transition = self.transition(from: state, on: number)
      if transition & 1 == 1 { return true }
      state = transition >> 1
    }
    return transition(from: state, on: alphabet.end) & 1 == 1
  }

  /// Returns the end of the longest match that begins at `start`, or `nil` if there isn't one.
  ///
  /// - Parameter budget: The maximum number of scalars to read, reduced by the number of read scalars.
  func longestMatch(in text: UnsafeRawBufferPointer, from start: Int, budget: inout Int) -> Int? {
    var state = offset(of: State(waiting: [Int32(program.start)], before: traits(before: start, in: text)))
    var index = start
    var end: Int?
    while index < text.count, budget > 0 {
      budget -= 1
      let place = index
      let transition = self.transition(from: state, on: alphabet.classOf(UTF8Scalars.scalar(text, &index)))
      if transition & 1 == 1 { end = place }
      state = transition >> 1
      if states[Int(state) / width].waiting.isEmpty { return end }
    }
    if index == text.count, transition(from: state, on: alphabet.end) & 1 == 1 { end = index }
    return end
  }

  private func traits(before place: Int, in text: UnsafeRawBufferPointer) -> ScalarAlphabet.Traits {
    guard program.hasAssertions else { return [] }
    guard place > 0 else { return .edge }
    var start = place - 1
    while text[start] & 0xC0 == 0x80 { start -= 1 }
    return alphabet.traits[alphabet.classOf(UTF8Scalars.scalar(text, &start))]
  }

  // MARK: Skipping

  /// Whether a match can only begin at a byte that leaves the idle state.
  private(set) lazy var leavesIdleWhereMatchesBegin =
    isFloating && !program.hasAssertions && transition(from: idle, on: alphabet.end) & 1 == 0

  /// Returns the next position at which the automaton may leave the idle state.
  @inline(__always)
  func nextCandidate(in text: UnsafeRawBufferPointer, from start: Int) -> Int {
    if let scan { return scan.next(in: text, from: start, before: text.count) }
    var index = start
    while index < text.count, skip[Int(text[index])] { index += 1 }
    return index
  }

  /// Computes the bytes that don't leave the idle state. A scalar's first byte is decisive.
  private func findSkips() {
    guard isFloating else { return }
    let leadBytes = (0..<0xF5 as Range<UInt8>).filter { !(0x80..<0xC2).contains($0) }
    let classes = leadBytes.map { alphabet.classes(in: Self.scalars(beginningWith: $0)) }
    func bytes(where isWanted: (Int) -> Bool) -> [UInt8] {
      zip(leadBytes, classes).filter { $1.contains(where: isWanted) }.map(\.0)
    }
    let ways = bytes { transition(from: idle, on: $0) != idle << 1 }
    for byte in 0..<256 { skip[byte] = !ways.contains(UInt8(byte)) }
    guard (1...PairScan.maximum).contains(ways.count) else { return }
    guard ways.allSatisfy({ $0 < 0x80 }) else {
      scan = PairScan(ways, at: 0, and: nil, at: 1)
      return
    }
    // After these bytes, a match continues only with scalars whose transition differs from the idle state's.
    let states = ways.map { transition(from: idle, on: alphabet.classOf(UInt32($0))) }
    let seconds = bytes { number in
      states.contains { $0 & 1 == 1 || transition(from: $0 >> 1, on: number) != transition(from: idle, on: number) }
    }
    // If the table filled up during the comparison and states were dropped, the compared offsets are meaningless.
    let isFew = (1...PairScan.maximum).contains(seconds.count) && forgottenCount == 1
    scan = PairScan(ways, at: 0, and: isFew ? seconds : nil, at: 1)
  }

  private static func scalars(beginningWith byte: UInt8) -> ClosedRange<UInt32> {
    let byte = UInt32(byte)
    return switch byte {
    case ..<0x80: byte...byte
    case ..<0xE0: (byte & 0x1F) << 6...((byte & 0x1F) << 6 | 0x3F)
    case ..<0xF0: max((byte & 0x0F) << 12, 0x800)...((byte & 0x0F) << 12 | 0xFFF)
    default: max((byte & 0x07) << 18, 0x10000)...min((byte & 0x07) << 18 | 0x3FFFF, 0x10FFFF)
    }
  }

  // MARK: Building states

  @inline(__always)
  private func transition(from state: Int32, on number: Int) -> Int32 {
    let known = transitions[Int(state) + number]
    return known != Self.unknown ? known : make(from: state, on: number)
  }

  private func make(from row: Int32, on number: Int) -> Int32 {
    let state = states[Int(row) / width]
    let after = alphabet.traits[number]
    mark += 1
    var isMatch = false
    var next: Set<Int32> = []
    stack = state.waiting.map(Int.init)
    while let step = stack.popLast() {
      guard marks[step] != mark else { continue }
      marks[step] = mark
      switch program.steps[step] {
      case .one(let set, let target): if alphabet.isMember(number, of: set) { next.insert(Int32(target)) }
      case .split(let one, let other): stack += [one, other]
      case .assertion(let assertion, let target):
        if assertion.holds(between: state.before, and: after) { stack.append(target) }
      case .match: isMatch = true
      }
    }
    if isFloating { next.insert(Int32(program.start)) }
    let target = State(waiting: next.sorted(), before: program.hasAssertions ? after : [])
    if states.count >= rowLimit - Self.reserve {
      forget()
      return offset(of: target) << 1 | (isMatch ? 1 : 0)
    }
    let transition = offset(of: target) << 1 | (isMatch ? 1 : 0)
    transitions[Int(row) + number] = transition
    return transition
  }

  /// Returns a state's row, and adds it if it's missing. The table must have space for a row.
  private func offset(of state: State) -> Int32 {
    var state = state
    if !program.hasAssertions { state.before = [] }
    if let offset = offsets[state] { return offset }
    let offset = Int32(states.count * width)
    (transitions + Int(offset)).initialize(repeating: Self.unknown, count: width)
    states.append(state)
    offsets[state] = offset
    return offset
  }

  private func forget() {
    forgottenCount += 1
    states.removeAll(keepingCapacity: true)
    offsets.removeAll(keepingCapacity: true)
    idle = offset(of: State(waiting: [Int32(program.start)], before: []))
    begin = offset(of: State(waiting: [Int32(program.start)], before: .edge))
  }
}

extension PatternNode.Assertion {
  /// Returns whether the assertion holds. A line ends before CR, LF and CR LF, and at the end of the text.
  func holds(between before: ScalarAlphabet.Traits, and after: ScalarAlphabet.Traits) -> Bool {
    let isWithinCRLF = before.contains(.carriageReturn) && after.contains(.lineFeed)
    return switch self {
    case .textStart: before.contains(.edge)
    case .textEnd: after.contains(.edge)
    case .lineStart: !before.isDisjoint(with: [.edge, .lineFeed, .carriageReturn]) && !isWithinCRLF
    case .lineEnd: !after.isDisjoint(with: [.edge, .lineFeed, .carriageReturn]) && !isWithinCRLF
    case .wordBoundary: before.contains(.word) != after.contains(.word)
    case .noWordBoundary: before.contains(.word) == after.contains(.word)
    }
  }
}
