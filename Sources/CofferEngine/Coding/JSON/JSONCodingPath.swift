/// The coding path of a value, from the innermost key to the outermost. The path of the whole value is `nil`.
final class JSONCodingPath {
  private let key: any CodingKey
  private let outer: JSONCodingPath?

  init(_ outer: JSONCodingPath?, _ key: any CodingKey) {
    self.key = key
    self.outer = outer
  }

  /// Returns the keys from the outermost to the innermost.
  static func keys(_ path: JSONCodingPath?) -> [any CodingKey] {
    var keys: [any CodingKey] = []
    var next = path
    while let path = next {
      keys.append(path.key)
      next = path.outer
    }
    return keys.reversed()
  }
}

/// A key that isn't declared by a type.
enum JSONCodingKey: CodingKey {
  case index(Int)
  case `super`

  init?(stringValue: String) { return nil }
  init?(intValue: Int) { self = .index(intValue) }

  var intValue: Int? {
    if case .index(let index) = self { index } else { nil }
  }

  var stringValue: String {
    if case .index(let index) = self { "Index \(index)" } else { "super" }
  }
}
