internal import CofferSealing

/// The commits that gave the parts of a collection their values (FORMAT, "Collections").
package struct CollectionDots: Hashable, Sendable {
  package var born: Dot
  package var name: Dot
  package var settings: Dot
  /// The commit that last dropped or recreated the collection.
  package var dropped: Dot
  /// The commit that made exactly this state of the collection.
  package var stamp: Dot

  /// Creates the dots of a new collection.
  package init(_ dot: Dot) {
    (born, name, settings, dropped, stamp) = (dot, dot, dot, dot, dot)
  }

  /// All dots of parts, without the stamp.
  package var parts: [Dot] { [born, name, settings, dropped] }

  private enum Mask {
    static let isDropped: UInt8 = 1 << 3
    static let stamp: UInt8 = 1 << 6
    static let known: UInt8 = 0x4f
  }

  func write(to builder: inout ByteBuilder, isDropped: Bool) {
    builder.append(born)
    let optional = [name, settings, dropped]
    var mask: UInt8 = isDropped ? Mask.isDropped : 0
    for (bit, dot) in optional.enumerated() where dot != born { mask |= 1 << bit }
    let isOtherStamp = stamp != parts.max()
    if isOtherStamp { mask |= Mask.stamp }
    builder.append(mask)
    for dot in optional where dot != born { builder.append(dot) }
    if isOtherStamp { builder.append(stamp) }
  }

  static func read(_ reader: inout ByteReader) -> (CollectionDots, isDropped: Bool)? {
    guard let born = reader.dot(), let mask: UInt8 = reader.integer(), mask & ~Mask.known == 0 else { return nil }
    func optional(_ bit: UInt8) -> Dot? { mask & 1 << bit == 0 ? born : reader.dot() }
    guard let name = optional(0), let settings = optional(1), let dropped = optional(2) else { return nil }
    var dots = CollectionDots(born)
    (dots.name, dots.settings, dots.dropped) = (name, settings, dropped)
    if mask & Mask.stamp == 0 {
      dots.stamp = dots.parts.max()!
    } else {
      guard let stamp = reader.dot() else { return nil }
      dots.stamp = stamp
    }
    return (dots, mask & Mask.isDropped != 0)
  }
}
