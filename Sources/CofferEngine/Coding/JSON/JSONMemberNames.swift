internal import CofferDocuments

/// The members of an object by name, for objects in which comparing bytes from name to name would be wrong or long.
///
/// Foundation finds members in a dictionary of strings, so names are also equal if Unicode considers them equal, such
/// as an accented letter in its composed and its decomposed form, and the first of two equal names counts.
final class JSONMemberNames {
  /// The greatest number of members to compare one by one.
  private static let searchLimit = 32

  private var table: [String: Int]?

  static func isNeeded(for object: Int, in source: JSONSource) -> Bool {
    let entry = source.tape.entries[object]
    return entry.kind == .object || entry.count > searchLimit
  }

  /// Returns the entry of the value of a member, or `nil` if there's no such member.
  ///
  /// - Parameter next: The name entry to try first, which matches if an object is read in order.
  func find(_ name: String, of object: Int, from next: Int, in source: JSONSource) -> Int? {
    let entry = source.tape.entries[object]
    if table == nil, entry.isMarked, next < object + entry.span,
      name.utf8.elementsEqual(source.bytes[source.tape.entries[next].range])
    {
      return next + 1
    }
    let table = table ?? Self.table(of: object, in: source)
    self.table = table
    return table[name]
  }

  /// Finds a name that isn't ASCII in a plain object, since ASCII characters have equals beyond ASCII, such as the
  /// Kelvin sign.
  static func find(foreign name: String, of object: Int, in source: JSONSource) -> Int? {
    name.utf8.allSatisfy { $0 < 0x80 } ? nil : table(of: object, in: source)[name]
  }

  static func table(of object: Int, in source: JSONSource) -> [String: Int] {
    var table: [String: Int] = [:]
    let entries = source.tape.entries
    table.reserveCapacity(entries[object].count)
    var index = object + 1
    for _ in 0..<entries[object].count {
      let name = source.tape.string(at: index, in: source.bytes)
      if table[name] == nil { table[name] = index + 1 }
      index += 1
      index += entries[index].span
    }
    return table
  }
}
