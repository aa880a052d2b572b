extension Attributes {
  /// Attributes by name.
  ///
  /// - Throws: ``JSONError``: `inexactNumber` for a number that is not finite, `tooDeep` beyond 512 levels.
  public init(_ members: [String: AttributeValue]) throws(JSONError) {
    if case .object(let nodes) = try AttributeValue.object(members).node(depth: 0) {
      self.init(nodes)
    } else {
      self.init()
    }
  }

  /// The value of that name; nil if there is none, or the attributes have a ``fault``.
  ///
  /// Setting nil removes the attribute; `.null` stores JSON's null. A value that JSON can't hold becomes the ``fault``
  /// of the attributes. Each access reads the JSON again, up to that name.
  public subscript(name: String) -> AttributeValue? {
    get {
      node(named: Array(name.utf8)).map { AttributeValue($0) }
    }
    set {
      guard fault == nil else { return }
      do throws(JSONError) {
        let wanted = Array(name.utf8)
        var nodes = nodes.filter { $0.name != wanted }
        if let newValue {
          let index = nodes.firstIndex { JSONOrder.precedes(wanted, $0.name) } ?? nodes.endIndex
          nodes.insert(JSONNode.Member(name: wanted, value: try newValue.node(depth: 1)), at: index)
        }
        self = Attributes(nodes)
      } catch {
        self = Attributes(fault: error)
      }
    }
  }

  /// Every attribute by name; empty if there are none, or a ``fault``. Parses the JSON.
  public var members: [String: AttributeValue] {
    AttributeValue.members(of: nodes)
  }

  /// - Parameter nodes: sorted as canonical JSON has them.
  private init(_ nodes: [JSONNode.Member]) {
    var output: [UInt8] = []
    if !nodes.isEmpty { JSONNode.object(nodes).appendCanonical(to: &output) }
    self.init(uncheckedCanonicalJSON: output)
  }

  private func node(named wanted: [UInt8]) -> JSONNode? {
    canonicalJSON.withUnsafeBytes { buffer in
      guard !buffer.isEmpty else { return nil }
      var scanner = JSONScanner(buffer)
      return try? scanner.scanMember(wanted)
    }
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
  /// A literal that JSON can't hold, or with one name twice, has a ``fault``.
  public init(dictionaryLiteral elements: (String, AttributeValue)...) {
    do throws(JSONError) {
      var nodes: [JSONNode.Member] = []
      for (name, value) in elements {
        nodes.append(JSONNode.Member(name: Array(name.utf8), value: try value.node(depth: 1)))
      }
      nodes.sort { JSONOrder.precedes($0.name, $1.name) }
      guard zip(nodes, nodes.dropFirst()).allSatisfy({ $0.name != $1.name }) else {
        throw JSONError(.duplicateName, at: 0, "an attribute name twice")
      }
      self.init(nodes)
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
