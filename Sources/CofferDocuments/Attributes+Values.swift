extension Attributes {
  /// Creates attributes from a dictionary.
  ///
  /// - Throws: ``JSONError``: `inexactNumber` for an infinite number or NaN, or `tooDeep` beyond 512 levels.
  public init(_ members: [String: AttributeValue]) throws(JSONError) {
    try self.init(members.map { ($0.key, $0.value) })
  }

  /// The value with the given name, or `nil` if it's missing or the attributes have a ``fault``.
  ///
  /// Setting `nil` removes the attribute, and `.null` stores a JSON null. A value that JSON can't represent becomes the
  /// attributes' ``fault``. Each access parses the JSON up to the name.
  public subscript(name: String) -> AttributeValue? {
    get {
      guard !canonicalJSON.isEmpty else { return nil }
      var name = name
      return name.withUTF8 { node(named: UnsafeRawBufferPointer($0)) }.map { AttributeValue($0) }
    }
    set {
      guard fault == nil else { return }
      do throws(JSONError) {
        let wanted = Array(name.utf8)
        var members = memberList.filter { $0.name != wanted }
        if let newValue {
          var value: [UInt8] = []
          try newValue.appendCanonical(to: &value, depth: 1)
          members.append(Member(name: wanted, value: value))
        }
        self = Attributes(members)
      } catch {
        self = Attributes(fault: error)
      }
    }
  }

  /// All attributes by name. Empty if there are no attributes, or a ``fault``. Parses the JSON.
  public var members: [String: AttributeValue] {
    AttributeValue.members(of: nodes)
  }

  /// Creates attributes from members whose names have different bytes.
  package init(_ members: [(String, AttributeValue)]) throws(JSONError) {
    var output: [UInt8] = []
    if !members.isEmpty { try AttributeValue.appendCanonical(members, to: &output, depth: 0) }
    self.init(uncheckedCanonicalJSON: output)
  }

  private func node(named wanted: UnsafeRawBufferPointer) -> JSONNode? {
    canonicalJSON.withUnsafeBytes { buffer in
      // Skip parsing if the JSON doesn't contain the name, because most documents lack the requested attribute.
      guard JSONWriter.needsEscapes(wanted) || Self.contains(buffer, wanted) else { return nil }
      var scanner = JSONScanner(buffer)
      return try? scanner.scanMember(wanted)
    }
  }

  private static func contains(_ bytes: UnsafeRawBufferPointer, _ wanted: UnsafeRawBufferPointer) -> Bool {
    guard let first = wanted.first else { return true }
    var start = 0
    while bytes.count - start >= wanted.count {
      if bytes[start] == first, wanted.indices.allSatisfy({ bytes[start + $0] == wanted[$0] }) { return true }
      start += 1
    }
    return false
  }

  var nodes: [JSONNode.Member] {
    canonicalJSON.withUnsafeBytes { buffer in
      var scanner = JSONScanner(buffer)
      guard !buffer.isEmpty, case .object(let members) = try? scanner.scanNode() else { return [] }
      return members
    }
  }
}

extension Attributes: ExpressibleByDictionaryLiteral {
  /// Creates attributes from a literal. A value that JSON can't represent, or a repeated name, results in a ``fault``.
  public init(dictionaryLiteral elements: (String, AttributeValue)...) {
    do throws(JSONError) {
      try self.init(elements)
    } catch {
      self.init(fault: error)
    }
  }
}

extension Attributes: CustomStringConvertible {
  /// The canonical JSON.
  public var description: String {
    isEmpty ? "{}" : String(decoding: canonicalJSON, as: UTF8.self)
  }
}
