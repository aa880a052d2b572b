/// Writes one JSON value part by part, without spaces, and sorts the members of each object by name when the object
/// ends.
///
/// Parts come in the order of the text, except that members may have any order. A call that doesn't fit, such as for an
/// ended container or a repeated member name, sets ``isUnfit``. The text is then invalid, and the caller must create it
/// in another way.
package struct JSONComposer {
  /// The greatest number of containers inside each other.
  private static let maximumDepth = 511

  /// An array or object that was begun.
  package struct Container {
    fileprivate let depth: Int
    fileprivate let id: Int

    /// A container without a value.
    package static let none = Container(depth: -1, id: -1)
  }

  /// A value's place, which is the whole text, a member or an element.
  package struct Slot {
    fileprivate let container: Container?
    fileprivate let number: Int

    package static let whole = Slot(container: nil, number: 0)
  }

  private struct Level {
    let id: Int
    let isObject: Bool
    let start: Int
    let firstMember: Int
    var count = 0
    var isSorted = true
    var isASCII = true
    /// Where the value of the newest member or element begins, or `nil` if that value has ended.
    var valueStart: Int?
  }

  private struct Member {
    /// The name's bytes between its quotes.
    let name: Range<Int>
    var end: Int
  }

  package private(set) var isUnfit = false
  /// The members of the whole text that can be its title.
  private var titles = TitleMembers()
  var bytes: [UInt8] = []
  private var levels: [Level] = []
  private var members: [Member] = []
  private var lastID = 0

  package init() {
    bytes.reserveCapacity(4096)
  }

  /// Marks the text as void.
  package mutating func setUnfit() { isUnfit = true }

  /// Ends the text.
  ///
  /// - Returns: The text and the title in it (``TitleRule/titleInJSON(_:)``), or `nil` if the text is invalid or empty.
  package mutating func finish() -> (text: String, title: String?)? {
    while !levels.isEmpty { endLevel() }
    return isUnfit || bytes.isEmpty ? nil : (String(decoding: bytes, as: UTF8.self), titles.title)
  }

  // MARK: Containers

  /// Returns whether a value isn't written yet and can be written now.
  package func isEmpty(_ slot: Slot) -> Bool {
    guard let container = slot.container else { return bytes.isEmpty }
    guard levels.count == container.depth + 1, let level = levels.last else { return false }
    return level.id == container.id && level.count == slot.number && level.valueStart == bytes.count
  }

  /// Begins an array or object as the value of an empty slot.
  package mutating func begin(object isObject: Bool, in slot: Slot) -> Container {
    guard isEmpty(slot), levels.count < Self.maximumDepth else {
      isUnfit = true
      return .none
    }
    lastID += 1
    levels.append(Level(id: lastID, isObject: isObject, start: bytes.count, firstMember: members.count))
    bytes.append(isObject ? JSONByte.openBrace : JSONByte.openBracket)
    return Container(depth: levels.count - 1, id: lastID)
  }

  /// Returns whether a container is an object or an array, or `nil` if it has ended.
  package func isObject(_ container: Container) -> Bool? {
    isOpen(container) ? levels[container.depth].isObject : nil
  }

  /// Returns the number of elements begun in an array.
  package func count(of container: Container) -> Int {
    isOpen(container) ? levels[container.depth].count : 0
  }

  /// Begins an object's member, and ends everything already begun in the object.
  ///
  /// - Returns: The member's slot, or `nil` if the object has ended.
  package mutating func beginMember(_ name: String, of container: Container) -> Slot? {
    guard resume(container) else { return nil }
    let depth = container.depth
    var name = name
    let start = bytes.count + 1
    let (count, isPlain) = name.withUTF8 { name in
      JSONWriter.appendString(UnsafeRawBufferPointer(name), to: &bytes)
      return (name.count, name.allSatisfy { $0 < 0x80 })
    }
    // The bytes of an escaped name aren't in the order of the name.
    if bytes.count != start + count + 1 { isUnfit = true }
    let range = start..<bytes.count - 1
    bytes.append(JSONByte.colon)
    if levels[depth].count > 0, levels[depth].isSorted {
      levels[depth].isSorted = bytes.withUnsafeBytes { Self.precedes(members[members.count - 1].name, range, $0) }
    }
    members.append(Member(name: range, end: bytes.count))
    levels[depth].isASCII = levels[depth].isASCII && isPlain
    return beginValue(in: container)
  }

  /// Begins an array's element, and ends everything already begun in the array.
  package mutating func beginElement(of container: Container) -> Slot? {
    resume(container) ? beginValue(in: container) : nil
  }

  /// Ends a member's or element's value, which is an empty object if nothing was written.
  package mutating func end(_ slot: Slot) {
    guard let container = slot.container, isOpen(container), levels[container.depth].count == slot.number else {
      isUnfit = true
      return
    }
    if !resume(container) { isUnfit = true }
  }

  private mutating func beginValue(in container: Container) -> Slot {
    levels[container.depth].count += 1
    levels[container.depth].valueStart = bytes.count
    return Slot(container: container, number: levels[container.depth].count)
  }

  private func isOpen(_ container: Container) -> Bool {
    container.depth >= 0 && container.depth < levels.count && levels[container.depth].id == container.id
  }

  /// Ends everything begun in a container.
  private mutating func resume(_ container: Container) -> Bool {
    guard isOpen(container) else {
      isUnfit = true
      return false
    }
    while levels.count > container.depth + 1 { endLevel() }
    endValue(at: container.depth)
    return true
  }

  private mutating func endValue(at depth: Int) {
    guard let start = levels[depth].valueStart else { return }
    if start == bytes.count { bytes += [JSONByte.openBrace, JSONByte.closeBrace] }
    levels[depth].valueStart = nil
    if levels[depth].isObject {
      members[members.count - 1].end = bytes.count
      if depth == 0 { noteTitle(members[members.count - 1].name, start..<bytes.count) }
    }
    bytes.append(JSONByte.comma)
  }

  /// Notes a member of the whole text, because it can be the title.
  private mutating func noteTitle(_ name: Range<Int>, _ value: Range<Int>) {
    bytes.withUnsafeBytes { bytes in
      let name = JSONScanner.StringToken(range: name, hasEscapes: false)
      titles.note({ JSONScanner(bytes, in: value).equals(name, $0) }) {
        var scanner = JSONScanner(bytes, in: value)
        return (try? scanner.scanString()).map { scanner.string(of: $0) }
      }
    }
  }

  private mutating func endLevel() {
    endValue(at: levels.count - 1)
    let level = levels.removeLast()
    if level.isObject {
      if !level.isSorted { sort(level) }
      if !level.isASCII, level.count > 1 { requireDistinctNames(level) }
      members.removeLast(members.count - level.firstMember)
    }
    let end = level.isObject ? JSONByte.closeBrace : JSONByte.closeBracket
    if level.count == 0 { bytes.append(end) } else { bytes[bytes.count - 1] = end }
  }

  // MARK: Order

  private mutating func sort(_ level: Level) {
    let start = level.start + 1
    let sorted = bytes.withUnsafeBytes { bytes in
      members[level.firstMember...].sorted { Self.precedes($0.name, $1.name, bytes) }
    }
    var ordered: [UInt8] = []
    ordered.reserveCapacity(bytes.count - start)
    var last: Range<Int>?
    for member in sorted {
      // Reject repeated names, because only the caller knows which member counts.
      if let last, bytes.withUnsafeBytes({ !Self.precedes(last, member.name, $0) }) { isUnfit = true }
      last = member.name
      ordered += bytes[member.name.lowerBound - 1...member.end]
    }
    bytes.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[start...]).copyBytes(from: ordered) }
  }

  /// Refuses names that `String` equates although their bytes differ.
  private mutating func requireDistinctNames(_ level: Level) {
    // The members may have been sorted since their names were written, so take the names from the text.
    let names = bytes.withUnsafeBytes { bytes -> Int? in
      var scanner = JSONScanner(bytes, in: level.start..<bytes.count)
      var names: Set<String> = []
      do throws(JSONError) {
        try scanner.openObject(depth: 1)
        for index in 0..<level.count {
          guard let name = try scanner.nextName(isFirst: index == 0) else { return nil }
          names.insert(String(decoding: scanner.value(of: name), as: UTF8.self))
          try scanner.skipValue(depth: 1)
        }
      } catch {
        return nil
      }
      return names.count
    }
    if names != level.count { isUnfit = true }
  }

  @inline(__always)
  private static func precedes(_ one: Range<Int>, _ other: Range<Int>, _ bytes: UnsafeRawBufferPointer) -> Bool {
    for index in 0..<min(one.count, other.count) {
      let (byte, otherByte) = (bytes[one.lowerBound + index], bytes[other.lowerBound + index])
      if byte != otherByte { return byte < otherByte }
    }
    return one.count < other.count
  }
}
