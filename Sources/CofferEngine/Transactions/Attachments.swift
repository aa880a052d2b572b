/// State that a target above the engine keeps on a connection, such as its open indexes.
///
/// The connection creates it on first use and releases it when the keys change.
package protocol ConnectionAttachment: AnyObject {
  init()
}

/// State that a target above the engine keeps on an open store, shared by all its connections.
package protocol SessionAttachment: AnyObject, Sendable {
  init(_ options: OpenOptions)

  /// Releases what the attachment keeps, when the store is closed.
  func close()
}

extension [ObjectIdentifier: any ConnectionAttachment] {
  /// Returns the attachment of a type, and makes it if it's missing.
  mutating func attachment<Attached: ConnectionAttachment>(_ type: Attached.Type) -> Attached {
    if let found = self[ObjectIdentifier(type)] as? Attached { return found }
    let made = type.init()
    self[ObjectIdentifier(type)] = made
    return made
  }
}

extension [ObjectIdentifier: any SessionAttachment] {
  /// Returns the attachment of a type, and makes it if it's missing.
  mutating func attachment<Attached: SessionAttachment>(_ type: Attached.Type, _ options: OpenOptions) -> Attached {
    if let found = self[ObjectIdentifier(type)] as? Attached { return found }
    let made = type.init(options)
    self[ObjectIdentifier(type)] = made
    return made
  }
}
