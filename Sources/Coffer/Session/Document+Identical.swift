extension String {
  /// Byte by byte: composed and decomposed forms are equal, but two texts.
  func isIdentical(to other: String) -> Bool {
    utf8.elementsEqual(other.utf8)
  }
}

extension Document {
  /// Byte by byte, dates included.
  func isIdentical(to other: Document) -> Bool {
    func isIdentical(_ one: String?, _ other: String?) -> Bool {
      guard let one, let other else { return one == nil && other == nil }
      return one.isIdentical(to: other)
    }
    return self == other && isIdentical(title, other.title) && text.isIdentical(to: other.text)
  }
}
