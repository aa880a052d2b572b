internal import Coffer

extension KeySlot {
  /// The slot's kind as the command names it.
  var kindName: String {
    switch kind {
    case .passphrase: "passphrase"
    case .keyFile: "key-file"
    case .recipient: "recipient"
    case .external(let provider): "provider \(provider)"
    case .unknown: "unknown"
    }
  }

  func facts(withOpening: Bool) -> [(name: String, value: JSONValue)] {
    var facts: [(name: String, value: JSONValue)] = [
      ("slot", .integer(slot)), ("kind", .string(kindName)), ("label", .string(label)), ("detail", .string(detail)),
    ]
    if withOpening {
      facts.append(("opened", .bool(opened)))
    }
    return facts
  }
}
