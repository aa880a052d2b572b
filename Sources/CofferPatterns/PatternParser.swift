/// A regular expression's syntax tree.
indirect enum PatternNode {
  /// One scalar in a set.
  case one(ScalarSet)
  case sequence([PatternNode])
  case choice([PatternNode])
  /// A repeated node. `most` is `nil` for an unlimited number.
  case repeated(PatternNode, least: Int, most: Int?)
  case assertion(Assertion)

  /// A condition on the two scalars around a position.
  enum Assertion: UInt8, Sendable {
    case lineStart, lineEnd, textStart, textEnd, wordBoundary, noWordBoundary
  }
}

/// A parser for regular expressions, whose syntax is described in ``Pattern/regularExpression(_:ignoring:)``.
struct PatternParser {
  private static let maximumDepth = 100
  private static let maximumCount = 1000

  private let scalars: [Unicode.Scalar]
  private let ignoresCase: Bool
  private var index = 0
  private var depth = 0

  /// - Throws: `syntax` with the position.
  static func parse(_ pattern: String, ignoringCase: Bool) throws(PatternError) -> PatternNode {
    var parser = PatternParser(scalars: Array(pattern.unicodeScalars), ignoresCase: ignoringCase)
    let node = try parser.choice()
    guard parser.next == nil else { throw parser.error("a ) without its (") }
    return node
  }

  private init(scalars: [Unicode.Scalar], ignoresCase: Bool) {
    self.scalars = scalars
    self.ignoresCase = ignoresCase
  }

  // MARK: Structure

  private mutating func choice() throws(PatternError) -> PatternNode {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.maximumDepth else { throw error("too many brackets within each other") }
    var ways = [try sequence()]
    while take("|") { ways.append(try sequence()) }
    return ways.count == 1 ? ways[0] : .choice(ways)
  }

  private mutating func sequence() throws(PatternError) -> PatternNode {
    var parts: [PatternNode] = []
    while let scalar = next, scalar != "|", scalar != ")" {
      let part = try atom()
      parts.append(try quantified(part))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func atom() throws(PatternError) -> PatternNode {
    let scalar = next!
    switch scalar {
    case "(": return try group()
    case "*", "+", "?", "{": throw error("nothing before \(scalar) can be repeated")
    default: index += 1
    }
    switch scalar {
    case ".": return .one(ScalarSet.lineEnds.inverted)
    case "^": return .assertion(.lineStart)
    case "$": return .assertion(.lineEnd)
    case "[": return .one(try bracket())
    case "\\": return try escape()
    default: return .one(cased(ScalarSet(scalar)))
    }
  }

  private mutating func group() throws(PatternError) -> PatternNode {
    index += 1
    if take("?"), !take(":") { throw error("(?: is the only group with a question mark") }
    let node = try choice()
    guard take(")") else { throw error("a ( without its )") }
    // Wrap the node, so a repetition of the group isn't treated as a repetition of its content.
    return .sequence([node])
  }

  private mutating func quantified(_ node: PatternNode) throws(PatternError) -> PatternNode {
    var node = node
    while let scalar = next {
      let (least, most): (Int, Int?)
      switch scalar {
      case "*": (least, most) = (0, nil)
      case "+": (least, most) = (1, nil)
      case "?": (least, most) = (0, 1)
      case "{":
        node = try counted(node)
        continue
      default: return node
      }
      try requireRepeatable(node)
      index += 1
      node = .repeated(node, least: least, most: most)
    }
    return node
  }

  private func requireRepeatable(_ node: PatternNode) throws(PatternError) {
    switch node {
    case .assertion: throw error("an assertion can't be repeated")
    case .repeated where next == "?": throw error("no repetition is lazy here: leave the ? out, the same is found")
    case .repeated: throw error("a repetition of a repetition: group it with (?:…)")
    default: return
    }
  }

  private mutating func counted(_ node: PatternNode) throws(PatternError) -> PatternNode {
    try requireRepeatable(node)
    index += 1
    guard let least = try number() else { throw error("a number is missing after {; a brace itself is \\{") }
    var most: Int? = least
    if take(",") { most = try number() }
    guard take("}") else { throw error("a { without its }") }
    guard most.map({ $0 >= least }) != false else { throw error("the second number of {} is the smaller one") }
    return .repeated(node, least: least, most: most)
  }

  private mutating func number() throws(PatternError) -> Int? {
    var value: Int?
    while let scalar = next, ("0"..."9").contains(scalar) {
      index += 1
      value = (value ?? 0) * 10 + Int(scalar.value - 0x30)
      guard value! <= Self.maximumCount else { throw error("a count over \(Self.maximumCount)") }
    }
    return value
  }

  // MARK: Sets and escapes

  /// Parses a bracket after its opening bracket.
  private mutating func bracket() throws(PatternError) -> ScalarSet {
    let isInverted = take("^")
    var set = ScalarSet()
    var isFirst = true
    while let scalar = next, scalar != "]" || isFirst {
      isFirst = false
      if scalar == "[", index + 1 < scalars.count, ":.=".unicodeScalars.contains(scalars[index + 1]) {
        throw error("[:…:] is not known here; \\d, \\w and \\s are")
      }
      let (low, members) = try bracketMember()
      guard let low, next == "-", index + 1 < scalars.count, scalars[index + 1] != "]" else {
        set = set.union(members)
        continue
      }
      index += 1
      let (high, _) = try bracketMember()
      guard let high, low.value <= high.value else { throw error("a range that goes backwards, or ends with a set") }
      set = set.union(ScalarSet([low.value...high.value]))
    }
    guard take("]") else { throw error("a [ without its ]") }
    set = cased(set)
    return isInverted ? set.inverted : set
  }

  /// Parses one member of a bracket. Also returns its scalar if the member is a single scalar, which can begin a range.
  private mutating func bracketMember() throws(PatternError) -> (Unicode.Scalar?, ScalarSet) {
    guard let scalar = next else { throw error("a [ without its ]") }
    index += 1
    guard scalar == "\\" else { return (scalar, ScalarSet(scalar)) }
    if let named = try namedSet() { return (nil, named) }
    let escaped = try escapedScalar()
    return (escaped, ScalarSet(escaped))
  }

  /// Parses an escape after its backslash.
  private mutating func escape() throws(PatternError) -> PatternNode {
    if let named = try namedSet() { return .one(named) }
    let assertions: [Unicode.Scalar: PatternNode.Assertion] = [
      "A": .textStart, "z": .textEnd, "b": .wordBoundary, "B": .noWordBoundary,
    ]
    if let scalar = next, let assertion = assertions[scalar] {
      index += 1
      return .assertion(assertion)
    }
    return .one(cased(ScalarSet(try escapedScalar())))
  }

  private mutating func namedSet() throws(PatternError) -> ScalarSet? {
    let set: ScalarSet
    switch next {
    case "d": set = .digits
    case "D": set = ScalarSet.digits.inverted
    case "w": set = .words
    case "W": set = ScalarSet.words.inverted
    case "s": set = .whitespace
    case "S": set = ScalarSet.whitespace.inverted
    default: return nil
    }
    index += 1
    return set
  }

  private mutating func escapedScalar() throws(PatternError) -> Unicode.Scalar {
    guard let scalar = next else { throw error("a \\ at the end") }
    index += 1
    switch scalar {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "x": return try hexadecimal(digits: 2)
    case "u": return take("{") ? try hexadecimal(digits: nil) : try hexadecimal(digits: 4)
    case "0"..."9": throw error("\\\(scalar): back references are not supported")
    case "a"..."z", "A"..."Z": throw error("\\\(scalar) is not known here")
    default: return scalar
    }
  }

  /// - Parameter digits: The number of digits, or `nil` to read up to a closing brace.
  private mutating func hexadecimal(digits: Int?) throws(PatternError) -> Unicode.Scalar {
    var value: UInt32 = 0
    var count = 0
    while count < digits ?? 6, let scalar = next, let digit = Character(scalar).hexDigitValue {
      index += 1
      count += 1
      value = value << 4 | UInt32(digit)
    }
    guard digits.map({ $0 == count }) ?? (count > 0 && take("}")), let scalar = Unicode.Scalar(value) else {
      throw error("not the number of a character: \\xHH, \\uHHHH or \\u{H…}")
    }
    return scalar
  }

  // MARK: Parts

  private var next: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    index += 1
    return true
  }

  private func cased(_ set: ScalarSet) -> ScalarSet {
    ignoresCase ? CaseVariants.table.closure(of: set) : set
  }

  private func error(_ message: String) -> PatternError {
    PatternError(.syntax, message, at: min(index + 1, scalars.count))
  }
}
