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
  /// of the attributes. Each access parses the JSON again.
  public subscript(name: String) -> AttributeValue? {
    get {
      let wanted = Array(name.utf8)
      return nodes.first { $0.name == wanted }.map { AttributeValue($0.value) }
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
      guard Set(nodes.map(\.name)).count == nodes.count else {
        throw JSONError(.duplicateName, at: 0, "an attribute name twice")
      }
      self.init(nodes.sorted { JSONOrder.precedes($0.name, $1.name) })
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
