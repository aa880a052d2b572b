package import CofferDocuments
internal import CofferPlatform

extension String {
  /// Compares bytes, because composed and decomposed forms are equal Strings but different texts.
  package func isIdentical(to other: String) -> Bool {
    let isSame = utf8.withContiguousStorageIfAvailable { bytes in
      other.utf8.withContiguousStorageIfAvailable { others in
        // Compare the memory, because comparing UTF-8 sequences takes a step for each byte.
        bytes.count == others.count
          && (bytes.isEmpty || memcmp(bytes.baseAddress!, others.baseAddress!, bytes.count) == 0)
      }
    }
    return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }
}

extension Document {
  /// Compares documents byte by byte, including dates.
  package func isIdentical(to other: Document) -> Bool {
    self == other && title.isIdentical(to: other.title) && text.isIdentical(to: other.text)
  }
}
