package import CofferDocuments
internal import CofferSealing
internal import CofferText

/// The commits that gave the parts of a document their values (FORMAT, "Dots of a document").
package struct DocumentDots: Hashable, Sendable {
  /// A top-level attribute whose dot differs from the dot of the attributes.
  package struct Member: Hashable, Sendable {
    package var name: [UInt8]
    package var dot: Dot

    package init(_ name: [UInt8], _ dot: Dot) {
      self.name = name
      self.dot = dot
    }
  }

  package var born: Dot
  package var text: Dot
  package var title: Dot
  package var key: Dot
  /// The dot of members that aren't in ``members``.
  package var attributes: Dot
  package var place: Dot
  /// The members with separate dots, sorted bytewise by name. Members that the attributes lack were removed.
  package var members: [Member] = []
  /// The commit that made exactly this state of the document.
  package var stamp: Dot
  /// The commit that kept the document despite a deletion elsewhere, or zero.
  package var kept = Dot.zero

  /// Creates the dots of a new document.
  package init(_ dot: Dot) {
    (born, text, title, key, attributes, place, stamp) = (dot, dot, dot, dot, dot, dot, dot)
  }

  /// All dots of parts, without the stamp and `kept`.
  package var parts: [Dot] { [born, text, title, key, attributes, place] + members.map(\.dot) }

  // MARK: Changes

  /// The parts of a document without the members of its attributes.
  package struct Parts: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let text = Parts(rawValue: 1)
    package static let title = Parts(rawValue: 2)
    package static let key = Parts(rawValue: 4)
    /// Collection, position and parent.
    package static let place = Parts(rawValue: 8)
  }

  /// Records a commit that changes parts of the document, or only its dates.
  ///
  /// - Parameters:
  ///   - names: The changed and removed members.
  ///   - new: The attributes after the change.
  package mutating func change(
    _ parts: Parts, names: [[UInt8]] = [], of new: Attributes = Attributes(), to dot: Dot
  ) {
    if parts.contains(.text) { text = dot }
    if parts.contains(.title) { title = dot }
    if parts.contains(.key) { key = dot }
    if parts.contains(.place) { place = dot }
    if !names.isEmpty {
      var dots = memberDots(new.memberList.map(\.name) + names)
      for name in names { dots[name] = dot }
      setMembers(dots, present: new.memberList.map(\.name))
    }
    stamp = dot
  }

  /// Returns the dots of the named members and of all members with separate dots.
  ///
  /// - Parameter names: The attributes' names.
  package func memberDots(_ names: [[UInt8]]) -> [[UInt8]: Dot] {
    var dots = Dictionary(names.map { ($0, attributes) }, uniquingKeysWith: { one, _ in one })
    for member in members { dots[member.name] = member.dot }
    return dots
  }

  /// Sets all members' dots, and stores them in the shortest form.
  ///
  /// - Parameters:
  ///   - dots: The dots of existing and removed members.
  ///   - present: The names of existing members.
  package mutating func setMembers(_ dots: [[UInt8]: Dot], present: [[UInt8]]) {
    let shared = Set(present.compactMap { dots[$0] })
    if shared.count == 1 { attributes = shared.first! }
    let present = Set(present)
    members = dots.filter { $0.value != attributes || !present.contains($0.key) }
      .map { Member($0.key, $0.value) }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  // MARK: The stored form

  private enum Mask {
    static let members: UInt8 = 1 << 5
    static let stamp: UInt8 = 1 << 6
    static let kept: UInt8 = 1 << 7
  }

  package var bytes: [UInt8] {
    var builder = ByteBuilder()
    builder.append(born)
    let optional = [text, title, key, attributes, place]
    var mask: UInt8 = 0
    for (bit, dot) in optional.enumerated() where dot != born { mask |= 1 << bit }
    if !members.isEmpty { mask |= Mask.members }
    if stamp != parts.max() { mask |= Mask.stamp }
    if !kept.isZero { mask |= Mask.kept }
    builder.append(mask)
    for dot in optional where dot != born { builder.append(dot) }
    if !members.isEmpty {
      builder.append(varint: UInt64(members.count))
      for member in members {
        builder.append(varint: UInt64(member.name.count))
        builder.append(bytes: member.name)
        builder.append(member.dot)
      }
    }
    if mask & Mask.stamp != 0 { builder.append(stamp) }
    if mask & Mask.kept != 0 { builder.append(kept) }
    return builder.bytes
  }

  /// Returns the stored form of a new document.
  package static func bytes(ofNew dot: Dot) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(dot)
    builder.append(UInt8(0))
    return builder.bytes
  }

  /// Reads the stored form, which must have been checked with its head.
  package init(checked bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let dots = DocumentDots(&reader), reader.isAtEnd else {
      preconditionFailure("internal error: dots were not checked")
    }
    self = dots
  }

  /// Reads the stored form, or returns `nil` for invalid bytes.
  private init?(_ reader: inout ByteReader) {
    guard let born = reader.dot(), let mask: UInt8 = reader.integer() else { return nil }
    func optional(_ bit: Int) -> Dot? { mask & 1 << bit == 0 ? born : reader.dot(orZero: true) }
    guard let text = optional(0), let title = optional(1), let key = optional(2), let attributes = optional(3),
      let place = optional(4)
    else { return nil }
    (self.born, self.text, self.title, self.key) = (born, text, title, key)
    (self.attributes, self.place, stamp) = (attributes, place, born)
    if mask & Mask.members != 0 {
      guard let count = reader.varint(), count >= 1, count <= UInt64(reader.remaining) else { return nil }
      members.reserveCapacity(Int(count))
      for _ in 0..<count {
        guard let length = reader.varint(), length <= UInt64(reader.remaining), let name = reader.bytes(Int(length)),
          let dot = reader.dot(orZero: true)
        else { return nil }
        members.append(Member(Array(name), dot))
      }
    }
    if mask & Mask.stamp != 0 {
      guard let dot = reader.dot() else { return nil }
      stamp = dot
    } else {
      stamp = parts.max()!
    }
    if mask & Mask.kept != 0 {
      guard let dot = reader.dot() else { return nil }
      kept = dot
    }
  }

  /// Skips the stored form, and returns whether its bytes are valid. Takes a few nanoseconds for a new document's dots.
  static func scan(_ reader: inout ByteReader) -> Bool {
    guard reader.dot() != nil, let mask: UInt8 = reader.integer() else { return false }
    guard mask != 0 else { return true }
    for bit in 0..<5 where mask & 1 << bit != 0 {
      guard reader.dot(orZero: true) != nil else { return false }
    }
    if mask & Mask.members != 0 {
      guard let count = reader.varint(), count >= 1, count <= UInt64(reader.remaining) else { return false }
      var last: UnsafeRawBufferPointer?
      for _ in 0..<count {
        guard let length = reader.varint(), length <= UInt64(reader.remaining), let name = reader.bytes(Int(length)),
          UTF8Validity.isValid(name), last.map({ $0.lexicographicallyPrecedes(name) }) ?? true,
          reader.dot(orZero: true) != nil
        else { return false }
        last = name
      }
    }
    if mask & Mask.stamp != 0 { guard reader.dot() != nil else { return false } }
    if mask & Mask.kept != 0 { guard reader.dot() != nil else { return false } }
    return true
  }
}
