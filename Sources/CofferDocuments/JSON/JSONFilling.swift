/// Members for an object that lacks them.
package enum JSONFilling {
  /// Returns an object with the members of `json`, byte for byte, and the members of `defaults` with missing names.
  /// Only top-level names are compared.
  ///
  /// - Returns: The object, or `nil` if either text isn't a JSON object in UTF-8.
  package static func object(_ json: UnsafeRawBufferPointer, with defaults: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let members = try? members(of: json), let spare = try? self.members(of: defaults) else { return nil }
    let names = Set(members.map(\.name))
    var output: [UInt8] = [JSONByte.openBrace]
    output.reserveCapacity(json.count + defaults.count)
    for (source, range) in members.map({ (json, $0.range) })
      + spare.filter({ !names.contains($0.name) }).map({ (defaults, $0.range) })
    {
      if output.count > 1 { output.append(JSONByte.comma) }
      output += source[range]
    }
    output.append(JSONByte.closeBrace)
    return output
  }

  /// Returns an object's members, with each name and the range of name and value.
  private static func members(of json: UnsafeRawBufferPointer) throws(JSONError) -> [(name: [UInt8], range: Range<Int>)]
  {
    var whole = JSONScanner(json)
    let object = try whole.scanDocument()
    var scanner = JSONScanner(json, in: object.range)
    try scanner.openObject(depth: 1)
    var members: [(name: [UInt8], range: Range<Int>)] = []
    while let name = try scanner.nextName(isFirst: members.isEmpty) {
      try scanner.skipValue(depth: 1)
      members.append((scanner.value(of: name), name.range.lowerBound - 1..<scanner.position))
    }
    return members
  }
}
