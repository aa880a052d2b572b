internal import CofferDocuments

/// A compiled pattern, which consists of the steps of a nondeterministic automaton over scalars, and its alphabet.
final class PatternProgram: Sendable {
  enum Step {
    /// Consumes one scalar in a set.
    case one(set: Int, next: Int)
    /// Continues with both steps.
    case split(Int, Int)
    case assertion(PatternNode.Assertion, next: Int)
    case match
  }

  /// The maximum number of steps, which limits memory and the time to build states.
  private static let maximumSteps = 10_000

  let steps: [Step]
  let start: Int
  let alphabet: ScalarAlphabet
  let hasAssertions: Bool

  /// - Throws: `tooLarge`.
  init(_ node: PatternNode) throws(PatternError) {
    var builder = Builder()
    start = try builder.add(node, before: try builder.add(.match))
    (steps, alphabet, hasAssertions) = (builder.steps, builder.alphabet, builder.hasAssertions)
  }

  /// Creates a program for a literal text that ignores case.
  ///
  /// All scalars in the searched text are folded, so `straße` finds `STRASSE` and vice versa. A match begins and ends
  /// with whole scalars.
  init(folding text: String) throws(PatternError) {
    let folded = CaseVariants.fold(text)
    let table = CaseVariants.table
    var builder = Builder()
    // The step that continues at each position in the folded text, built from the end.
    var places = [try builder.add(.match)]
    func step(from place: Int) -> Int { places[folded.count - place] }
    for place in folded.indices.reversed() {
      let variants = ScalarSet(table.variants(ofFolded: folded[place]))
      var way = try builder.add(.one(set: builder.index(of: variants), next: step(from: place + 1)))
      for ligature in table.ligatures(from: folded[place]) where folded[place...].starts(with: ligature.folded) {
        let set = builder.index(of: ScalarSet([ligature.scalar]))
        let other = try builder.add(.one(set: set, next: step(from: place + ligature.folded.count)))
        way = try builder.add(.split(way, other))
      }
      places.append(way)
    }
    start = places.last!
    (steps, alphabet, hasAssertions) = (builder.steps, builder.alphabet, false)
  }

  private struct Builder {
    var steps: [Step] = []
    var hasAssertions = false
    private var needsWords = false
    private var sets: [ScalarSet] = []
    private var indexes: [ScalarSet: Int] = [:]

    var alphabet: ScalarAlphabet {
      ScalarAlphabet(sets, needsLines: hasAssertions, needsWords: needsWords)
    }

    mutating func index(of set: ScalarSet) -> Int {
      if let index = indexes[set] { return index }
      sets.append(set)
      indexes[set] = sets.count - 1
      return sets.count - 1
    }

    mutating func add(_ step: Step) throws(PatternError) -> Int {
      guard steps.count < PatternProgram.maximumSteps else {
        throw PatternError(.tooLarge, "the pattern is too large: its counted repetitions are written out")
      }
      steps.append(step)
      return steps.count - 1
    }

    /// - Returns: The node's first step, which continues with `next`.
    mutating func add(_ node: PatternNode, before next: Int) throws(PatternError) -> Int {
      switch node {
      case .one(let set):
        return try add(.one(set: index(of: set), next: next))
      case .sequence(let parts):
        var next = next
        for part in parts.reversed() { next = try add(part, before: next) }
        return next
      case .choice(let ways):
        var all = try add(ways[ways.count - 1], before: next)
        for way in ways.dropLast().reversed() { all = try add(.split(try add(way, before: next), all)) }
        return all
      case .assertion(let assertion):
        hasAssertions = true
        if assertion == .wordBoundary || assertion == .noWordBoundary { needsWords = true }
        return try add(.assertion(assertion, next: next))
      case .repeated(let part, let least, let most):
        var next = try optional(part, times: most.map { $0 - least }, before: next)
        for _ in 0..<least {
          let count = steps.count
          next = try add(part, before: next)
          // A part without steps matches the empty text, regardless of repetition.
          if steps.count == count { break }
        }
        return next
      }
    }

    /// - Parameter times: The number of repetitions, or `nil` for an unlimited number.
    private mutating func optional(_ part: PatternNode, times: Int?, before next: Int) throws(PatternError) -> Int {
      guard let times else {
        let loop = try add(.split(next, next))
        steps[loop] = .split(try add(part, before: loop), next)
        return loop
      }
      var first = next
      for _ in 0..<times { first = try add(.split(try add(part, before: first), next)) }
      return first
    }
  }
}

/// The classes of scalars. Two scalars are in the same class if every set in the pattern contains both or neither of
/// them.
struct ScalarAlphabet: Sendable {
  /// The properties of scalars that assertions test.
  struct Traits: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let word = Traits(rawValue: 1)
    static let lineFeed = Traits(rawValue: 2)
    static let carriageReturn = Traits(rawValue: 4)
    /// The traits at the beginning and end of the text.
    static let edge = Traits(rawValue: 8)
  }

  /// The first scalar of each run of scalars in one class, in ascending order.
  private let starts: [UInt32]
  private let classesOfRuns: [UInt16]
  /// The classes of scalars with at most two UTF-8 bytes.
  private let low: [UInt16]
  /// Each class's traits. The last class is the end of the text.
  let traits: [Traits]
  /// For each class and set, whether the set contains the class.
  private let members: [[Bool]]

  /// The number of classes, including the end of the text.
  var classCount: Int { traits.count }
  var end: Int { traits.count - 1 }

  init(_ sets: [ScalarSet], needsLines: Bool, needsWords: Bool) {
    let lineFeed = ScalarSet([0x0A...0x0A])
    let carriageReturn = ScalarSet([0x0D...0x0D])
    var all = sets
    if needsLines { all += [lineFeed, carriageReturn] }
    if needsWords { all.append(.words) }
    var bounds: Set<UInt32> = [0]
    for range in all.lazy.flatMap(\.ranges) { bounds.formUnion([range.lowerBound, range.upperBound + 1]) }
    var starts: [UInt32] = []
    var classesOfRuns: [UInt16] = []
    var classes: [[Bool]: UInt16] = [:]
    var members: [[Bool]] = []
    var traits: [Traits] = []
    for start in bounds.sorted() where start <= 0x10FFFF {
      let signature = all.map { $0.contains(start) }
      if classes[signature] == nil {
        classes[signature] = UInt16(members.count)
        members.append(signature)
        var trait: Traits = []
        if needsWords, ScalarSet.words.contains(start) { trait.insert(.word) }
        if needsLines, lineFeed.contains(start) { trait.insert(.lineFeed) }
        if needsLines, carriageReturn.contains(start) { trait.insert(.carriageReturn) }
        traits.append(trait)
      }
      starts.append(start)
      classesOfRuns.append(classes[signature]!)
    }
    (self.starts, self.classesOfRuns, self.members) = (starts, classesOfRuns, members)
    self.traits = traits + [.edge]
    low = (0..<0x800).map { Self.find($0, starts, classesOfRuns) }
  }

  private static func find(_ scalar: UInt32, _ starts: [UInt32], _ classes: [UInt16]) -> UInt16 {
    classes[starts.indices.partitionPoint { starts[$0] <= scalar } - 1]
  }

  @inline(__always)
  func classOf(_ scalar: UInt32) -> Int {
    Int(scalar < 0x800 ? low[Int(scalar)] : Self.find(scalar, starts, classesOfRuns))
  }

  /// Returns whether a set in the pattern contains a class. Sets don't contain the end of the text.
  func isMember(_ number: Int, of set: Int) -> Bool {
    number < members.count && members[number][set]
  }

  /// Returns the classes of all scalars in a range.
  func classes(in range: ClosedRange<UInt32>) -> Set<Int> {
    var found: Set<Int> = [classOf(range.lowerBound)]
    for (start, number) in zip(starts, classesOfRuns) where range.contains(start) { found.insert(Int(number)) }
    return found
  }
}
