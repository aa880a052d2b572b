extension Attributes {
  /// A top-level member, with its value in canonical form. Names are bytes, because names with different accent
  /// composition are equal as `String`.
  package struct Member: Hashable, Sendable {
    package var name: [UInt8]
    package var value: [UInt8]

    package init(name: [UInt8], value: [UInt8]) {
      self.name = name
      self.value = value
    }
  }

  /// The top-level members, sorted by name bytes. Parses the JSON.
  package var memberList: [Member] {
    nodes.map { node in
      var value: [UInt8] = []
      node.value.appendCanonical(to: &value)
      return Member(name: node.name, value: value)
    }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  /// Creates attributes from members with distinct names, in any order.
  package init(_ members: [Member]) {
    var output: [UInt8] = []
    if !members.isEmpty {
      output.append(JSONByte.openBrace)
      for (index, member) in members.sorted(by: { JSONOrder.precedes($0.name, $1.name) }).enumerated() {
        if index > 0 { output.append(JSONByte.comma) }
        member.name.withUnsafeBytes { JSONWriter.appendString($0, to: &output) }
        output.append(JSONByte.colon)
        output += member.value
      }
      output.append(JSONByte.closeBrace)
    }
    self.init(uncheckedCanonicalJSON: output)
  }

  /// Replaces or adds members.
  package mutating func merge(_ new: Attributes) {
    let members = new.memberList
    let names = Set(members.map(\.name))
    self = Attributes(memberList.filter { !names.contains($0.name) } + members)
  }

  /// Returns the names of members added, changed or removed since `old`.
  package func changedNames(since old: Attributes) -> [[UInt8]] {
    guard canonicalJSON != old.canonicalJSON else { return [] }
    let (before, after) = (Self.values(old), Self.values(self))
    return Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  private static func values(_ attributes: Attributes) -> [[UInt8]: [UInt8]] {
    Dictionary(uniqueKeysWithValues: attributes.memberList.map { ($0.name, $0.value) })
  }
}
