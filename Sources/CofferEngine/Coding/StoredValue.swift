/// A value together with its document's header, which contains the ID, key, attributes and dates.
@dynamicMemberLookup
public struct StoredValue<Value: Sendable>: Sendable, Identifiable {
  /// The document without its text.
  public let header: DocumentHeader
  /// The value. Changing it doesn't change the store.
  public var value: Value

  public var id: DocumentID { header.id }

  /// Creates a value with a header, for example for a preview or test. Doesn't store the value.
  public init(header: DocumentHeader, value: Value) {
    self.header = header
    self.value = value
  }

  /// Accesses a member of the value.
  public subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
    get { value[keyPath: path] }
    set { value[keyPath: path] = newValue }
  }

  /// Returns a read-only member of the value.
  public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member {
    value[keyPath: path]
  }
}

extension StoredValue: Equatable where Value: Equatable {}
extension StoredValue: Hashable where Value: Hashable {}
