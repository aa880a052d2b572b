/// Keeps a stored value's unknown members when a program changes the value.
///
/// Members are known if the program writes them again after reading the stored value.
package enum JSONKeeping {
  /// An error for an array whose elements can't be matched with the stored elements, so their unknown members can't be
  /// kept.
  package struct Displaced: Error {}

  /// The greatest number of elements to search for elements in another order.
  private static let searchLimit = 1000

  /// Returns the new value with the unknown members of the stored value.
  ///
  /// An array element's unknown members are kept if the element is unchanged, at any index, or if it keeps its index.
  /// Programs write sets, and dictionaries whose keys aren't strings, as arrays in a different order each time. So such
  /// dictionaries' elements are found by their keys, and a set's elements keep unknown members while they're unchanged.
  ///
  /// - Parameters:
  ///   - new: The value that replaces the stored value.
  ///   - stored: The stored value.
  ///   - known: A closure that returns the stored value as rewritten by the program. Only called if the new value lacks
  ///     members.
  /// - Returns: The value with the kept members, or `nil` if no members need to be kept.
  /// - Throws: ``Displaced``, and errors of `known`.
  package static func keep(
    in new: [UInt8], membersOf stored: [UInt8], known: () throws -> [UInt8]
  ) throws -> [UInt8]? {
    let isSame = stored.withUnsafeBytes { stored in new.withUnsafeBytes { haveSameMembers(stored, $0) } }
    guard !isSame, let old = Node(json: stored), let fresh = Node(json: new),
      !fresh.hasMembers(of: old)
    else { return nil }
    let known = try known()
    guard let knownNode = Node(json: known), !knownNode.hasMembers(of: old) else { return nil }
    var joined: [UInt8] = []
    try join(old, knownNode, fresh).append(to: &joined)
    return joined
  }

  /// Returns whether a new value has all members of a stored value, including nested objects and arrays. In an array,
  /// one element with a member shows that the program knows the member.
  package static func hasMembers(_ new: [UInt8], of stored: [UInt8]) -> Bool {
    guard let stored = Node(json: stored) else { return false }
    return Node(json: new)?.hasMembersSomewhere(of: stored) ?? false
  }

  /// Returns whether two values have the same members in the same order, including nested objects and arrays.
  package static func haveSameMembers(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    var (one, other) = (JSONScanner(one), JSONScanner(other))
    return (try? haveSameMembers(&one, &other, depth: 0)) ?? false
  }

  private static func haveSameMembers(
    _ one: inout JSONScanner, _ other: inout JSONScanner, depth: Int
  ) throws(JSONError) -> Bool {
    switch (one.next, other.next) {
    case (JSONByte.openBrace, JSONByte.openBrace):
      try one.openObject(depth: depth + 1)
      try other.openObject(depth: depth + 1)
      var isFirst = true
      while let name = try one.nextName(isFirst: isFirst) {
        guard let otherName = try other.nextName(isFirst: isFirst), !name.hasEscapes, !otherName.hasEscapes,
          one.bytes(of: name).elementsEqual(other.bytes(of: otherName)),
          try haveSameMembers(&one, &other, depth: depth + 1)
        else { return false }
        isFirst = false
      }
      return try other.nextName(isFirst: isFirst) == nil
    case (JSONByte.openBracket, JSONByte.openBracket):
      try one.openArray(depth: depth + 1)
      try other.openArray(depth: depth + 1)
      var isFirst = true
      while try one.hasNextElement(isFirst: isFirst) {
        guard try other.hasNextElement(isFirst: isFirst), try haveSameMembers(&one, &other, depth: depth + 1) else {
          return false
        }
        isFirst = false
      }
      return try !other.hasNextElement(isFirst: isFirst)
    case (JSONByte.openBrace, _), (JSONByte.openBracket, _): return false
    default:
      try one.skipValue(depth: depth)
      try other.skipValue(depth: depth)
      return true
    }
  }

  private static func join(_ old: Node, _ known: Node, _ new: Node) throws(Displaced) -> Node {
    if new.bytes == known.bytes { return old }
    switch (old.content, known.content, new.content) {
    case (.object(let old), .object(let known), .object(let new)):
      var joined = new
      for (name, value) in old {
        let knownName = Self.knownName(for: name, of: old, in: known)
        guard let knownValue = known[knownName] else {
          if joined[name] == nil { joined[name] = value }
          continue
        }
        // The program removed a member that the new value lacks.
        if let newValue = new[knownName] { joined[knownName] = try join(value, knownValue, newValue) }
      }
      return Node(content: .object(joined), bytes: nil)
    case (.array(let old), .array(let known), .array(let new)):
      return Node(content: .array(try join(old, known, new)), bytes: nil)
    default:
      return new
    }
  }

  /// Returns the program's name for a stored member, because decoders also find the member if its name has another
  /// Unicode form.
  private static func knownName(
    for name: [UInt8], of old: [[UInt8]: Node], in known: [[UInt8]: Node]
  ) -> [UInt8] {
    guard known[name] == nil, !name.allSatisfy({ $0 < 0x80 }) else { return name }
    let text = String(decoding: name, as: UTF8.self)
    return known.keys.first { old[$0] == nil && String(decoding: $0, as: UTF8.self) == text } ?? name
  }

  private static func join(_ old: [Node], _ known: [Node], _ new: [Node]) throws(Displaced) -> [Node] {
    guard old.contains(where: { $0.hasAnyMember }), Set(old.map(\.bytes)) != Set(known.map(\.bytes)) else { return new }
    // The program omits or adds elements.
    guard old.count == known.count else { throw Displaced() }
    if let joined = try joinPairs(old, known, new) { return joined }
    let (stored, isReordered) = try reordered(old, like: known)
    // Find the unchanged elements first, which may have moved.
    var places: [ArraySlice<UInt8>?: [Int]] = [:]
    for index in known.indices.reversed() { places[known[index].bytes, default: []].append(index) }
    var sources = new.map { places[$0.bytes]?.popLast() }
    let used = Set(sources.compactMap { $0 })
    var isDisplaced = false
    for index in known.indices where !used.contains(index) && !known[index].hasMembers(of: stored[index]) {
      if !isReordered, index < new.count, sources[index] == nil { sources[index] = index } else { isDisplaced = true }
    }
    // Unless elements were only removed, an unmatched element may have been changed and moved.
    if isDisplaced, sources.contains(nil) { throw Displaced() }
    var joined: [Node] = []
    for (element, source) in zip(new, sources) {
      joined.append(
        try source.map { index throws(Displaced) in try join(stored[index], known[index], element) } ?? element)
    }
    return joined
  }

  /// Joins arrays of keys and values in turns, such as a dictionary's whose keys aren't strings.
  ///
  /// - Returns: `nil` for other arrays.
  private static func joinPairs(_ old: [Node], _ known: [Node], _ new: [Node]) throws(Displaced) -> [Node]? {
    guard let oldPairs = pairs(old), let knownPairs = pairs(known), let newPairs = pairs(new),
      oldPairs.keys == knownPairs.keys
    else { return nil }
    var lost = oldPairs.filter { key, value in
      newPairs[key] == nil && knownPairs[key]?.hasMembers(of: value) == false
    }
    var hasNewKey = false
    var joined = new
    for index in stride(from: 0, to: new.count, by: 2) {
      var key = new[index].bytes
      if oldPairs[key] == nil {
        // A key may have been changed at its index.
        guard index < known.count, newPairs[known[index].bytes] == nil, new[index + 1].bytes == known[index + 1].bytes
        else {
          hasNewKey = true
          continue
        }
        key = known[index].bytes
        lost[key] = nil
      }
      guard let oldValue = oldPairs[key], let knownValue = knownPairs[key] else { continue }
      joined[index + 1] = try join(oldValue, knownValue, new[index + 1])
    }
    if hasNewKey, !lost.isEmpty { throw Displaced() }
    return joined
  }

  /// Returns the values by key of an array of distinct keys and values in turns, or `nil` for another array.
  private static func pairs(_ elements: [Node]) -> [ArraySlice<UInt8>?: Node]? {
    guard elements.count.isMultiple(of: 2) else { return nil }
    var pairs: [ArraySlice<UInt8>?: Node] = [:]
    for index in stride(from: 0, to: elements.count, by: 2) {
      guard case .scalar = elements[index].content, pairs[elements[index].bytes] == nil else { return nil }
      pairs[elements[index].bytes] = elements[index + 1]
    }
    return pairs
  }

  /// Returns the stored elements in the order that the program rewrites them, which differs for a set.
  private static func reordered(
    _ old: [Node], like known: [Node]
  ) throws(Displaced) -> (elements: [Node], isReordered: Bool) {
    // The program writes these members whenever an element has them.
    let names = known.reduce(into: Set<[UInt8]>()) { $0.formUnion($1.names) }
    func canStand(_ element: Node, for stored: Node) -> Bool {
      element.canStand(for: stored) && stored.names.intersection(names).isSubset(of: element.names)
    }
    let strays = known.indices.filter { !canStand(known[$0], for: old[$0]) }
    if strays.isEmpty { return (old, false) }
    guard known.count <= searchLimit else { throw Displaced() }
    let sources = known.map { element in old.indices.filter { canStand(element, for: old[$0]) } }
    // An element that doesn't resemble any stored element is written in another form at the same index.
    guard strays.contains(where: { !sources[$0].isEmpty }) else { return (old, false) }
    guard sources.allSatisfy({ $0.count == 1 }), Set(sources.joined()).count == old.count else { throw Displaced() }
    return (sources.joined().map { old[$0] }, true)
  }
}

extension JSONScanner {
  fileprivate func bytes(of token: StringToken) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + token.range.lowerBound, count: token.range.count)
  }
}

/// A JSON value.
private struct Node {
  enum Content {
    case scalar
    case array([Node])
    case object([[UInt8]: Node])
  }

  let content: Content
  /// The value's bytes in its source, or `nil` for a joined value.
  let bytes: ArraySlice<UInt8>?

  init(content: Content, bytes: ArraySlice<UInt8>?) {
    (self.content, self.bytes) = (content, bytes)
  }

  func append(to output: inout [UInt8]) {
    if let bytes {
      output += bytes
      return
    }
    switch content {
    case .scalar: break
    case .object(let members):
      output.append(JSONByte.openBrace)
      for (index, member) in members.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }).enumerated() {
        if index > 0 { output.append(JSONByte.comma) }
        member.key.withUnsafeBytes { JSONWriter.appendString($0, to: &output) }
        output.append(JSONByte.colon)
        member.value.append(to: &output)
      }
      output.append(JSONByte.closeBrace)
    case .array(let elements):
      output.append(JSONByte.openBracket)
      for (index, element) in elements.enumerated() {
        if index > 0 { output.append(JSONByte.comma) }
        element.append(to: &output)
      }
      output.append(JSONByte.closeBracket)
    }
  }

  /// - Returns: `nil` if the bytes aren't one JSON value in UTF-8.
  init?(json: [UInt8]) {
    let node = json.withUnsafeBytes { bytes -> Node? in
      var whole = JSONScanner(bytes)
      guard let range = try? whole.scanDocument().range else { return nil }
      var scanner = JSONScanner(bytes, in: range)
      return try? Node(&scanner, json, depth: 0)
    }
    guard let node else { return nil }
    self = node
  }

  private init(_ scanner: inout JSONScanner, _ json: [UInt8], depth: Int) throws(JSONError) {
    let start = scanner.position
    switch scanner.next {
    case JSONByte.openBrace:
      try scanner.openObject(depth: depth + 1)
      var members: [[UInt8]: Node] = [:]
      var isFirst = true
      while let name = try scanner.nextName(isFirst: isFirst) {
        isFirst = false
        let name = scanner.value(of: name)
        let value = try Node(&scanner, json, depth: depth + 1)
        // The first member of a name counts, as for decoders.
        if members[name] == nil { members[name] = value }
      }
      content = .object(members)
    case JSONByte.openBracket:
      try scanner.openArray(depth: depth + 1)
      var elements: [Node] = []
      while try scanner.hasNextElement(isFirst: elements.isEmpty) {
        elements.append(try Node(&scanner, json, depth: depth + 1))
      }
      content = .array(elements)
    default:
      try scanner.skipValue(depth: depth)
      content = .scalar
    }
    bytes = json[start..<scanner.position]
  }

  /// Returns whether this value has all members of another value, including nested objects and arrays.
  func hasMembers(of other: Node) -> Bool {
    switch (content, other.content) {
    case (.object(let own), .object(let others)):
      others.allSatisfy { name, value in own[name].map { $0.hasMembers(of: value) } ?? false }
    case (.array(let own), .array(let others)):
      // If the elements can't be paired, only their kinds show whether members could be lost.
      own.count == others.count
        ? zip(own, others).allSatisfy { $0.hasMembers(of: $1) } : !others.contains { $0.hasAnyMember }
    default: true
    }
  }

  /// Returns whether this value has all members of another value. In arrays, any element can have a member.
  func hasMembersSomewhere(of other: Node) -> Bool {
    switch (content, other.content) {
    case (.object(let own), .object(let others)):
      others.allSatisfy { name, value in own[name].map { $0.hasMembersSomewhere(of: value) } ?? false }
    case (.array(let own), .array(let others)):
      others.enumerated().allSatisfy { place, element in
        // Most elements keep their index. Comparing them again would double the work in each nested array.
        place < own.count && own[place].hasMembersSomewhere(of: element) || !element.hasAnyMember
          || own.indices.contains {
            $0 != place && own[$0].hasAnyMember && own[$0].hasMembersSomewhere(of: element)
          }
      }
    default: true
    }
  }

  var hasAnyMember: Bool {
    switch content {
    case .scalar: false
    case .array(let elements): elements.contains { $0.hasAnyMember }
    case .object(let members): !members.isEmpty
    }
  }

  /// The names of an object's non-null members. Programs may omit null members.
  var names: Set<[UInt8]> {
    guard case .object(let members) = content else { return [] }
    return Set(members.filter { $0.value.bytes?.elementsEqual("null".utf8) != true }.keys)
  }

  /// Returns whether a program that knows only some members of another value may have written it as this value.
  func canStand(for other: Node) -> Bool {
    switch (content, other.content) {
    case (.object(let own), .object(let others)):
      // Two cases of an enumeration don't share a member.
      (own.isEmpty || others.isEmpty || own.contains { others[$0.key] != nil })
        && own.allSatisfy { name, value in others[name].map { value.canStand(for: $0) } ?? true }
    case (.array(let own), .array(let others)) where other.hasAnyMember:
      own.count == others.count && zip(own, others).allSatisfy { $0.canStand(for: $1) }
    case (.array(let own), .array(let others)):
      // The array can be a set, whose order is arbitrary.
      own.count == others.count && Set(own.map(\.bytes)) == Set(others.map(\.bytes))
    case (.scalar, .scalar): isSameScalar(as: other)
    default: false
    }
  }

  /// Returns whether two scalars are equal, including other programs' forms.
  private func isSameScalar(as other: Node) -> Bool {
    guard let bytes, let others = other.bytes else { return false }
    if bytes == others { return true }
    return bytes.withUnsafeBytes { bytes in
      others.withUnsafeBytes { others in
        guard bytes.first == JSONByte.quote, others.first == JSONByte.quote else {
          guard let number = JSONNumber.double(bytes) else { return false }
          return number == JSONNumber.double(others)
        }
        guard bytes.contains(JSONByte.backslash) || others.contains(JSONByte.backslash) else { return false }
        return JSONPath.bytes(ofStringAt: 0..<bytes.count, in: bytes)
          == JSONPath.bytes(ofStringAt: 0..<others.count, in: others)
      }
    }
  }
}
