package import CofferDocuments

#if canImport(Glibc)
  internal import Glibc
#endif

extension String {
  /// Byte by byte: composed and decomposed forms are equal, but two texts.
  package func isIdentical(to other: String) -> Bool {
    let isSame = utf8.withContiguousStorageIfAvailable { bytes in
      other.utf8.withContiguousStorageIfAvailable { others in
        // A sequence of UTF-8 is compared a byte at a time; its memory, many at once.
        bytes.count == others.count
          && (bytes.isEmpty || memcmp(bytes.baseAddress!, others.baseAddress!, bytes.count) == 0)
      }
    }
    return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }
}

extension Document {
  /// Byte by byte, dates included.
  package func isIdentical(to other: Document) -> Bool {
    func isIdentical(_ one: String?, _ other: String?) -> Bool {
      guard let one, let other else { return one == nil && other == nil }
      return one.isIdentical(to: other)
    }
    return self == other && isIdentical(title, other.title) && text.isIdentical(to: other.text)
  }
}
