/// A value with the header of its document: its id, key, attributes and dates.
@dynamicMemberLookup
public struct StoredValue<Value: Sendable>: Sendable, Identifiable {
  /// The document without its text.
  public let header: DocumentHeader
  /// The value; changing it writes nothing.
  public var value: Value

  public var id: DocumentID { header.id }

  /// A value with its header, such as for a preview or a test; stores nothing.
  public init(header: DocumentHeader, value: Value) {
    self.header = header
    self.value = value
  }

  /// A member of the value.
  public subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
    get { value[keyPath: path] }
    set { value[keyPath: path] = newValue }
  }

  /// A member of the value that can only be read.
  public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member {
    value[keyPath: path]
  }
}

extension StoredValue: Equatable where Value: Equatable {}
extension StoredValue: Hashable where Value: Hashable {}
