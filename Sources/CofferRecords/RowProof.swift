package import CofferDocuments
package import CofferSealing

/// The rows that matched a release when a store was opened, by their numbers.
///
/// A slot holder has all keys and can seal a row with any content at any time. Therefore, rows that are read later must
/// match these rows' elements, which cover entire rows.
package final class RowProof: Sendable {
  /// A table's rows, each with its number as i64 and its complete element. Half an element isn't enough, because a slot
  /// holder who seals the copy's rows could prepare two rows with the same half.
  package struct Rows: Sendable {
    package static let entryByteCount = 8 + elementByteCount
    private static let elementByteCount = SetElement.byteCount

    /// The entries in ascending numeric order, which are empty if they're in a file.
    package private(set) var bytes: [UInt8] = []
    private var last = Int64.min
    private let file: RowFile?

    package init() { file = nil }

    /// Creates rows with entries in a file.
    package init(_ file: RowFile) { self.file = file }

    /// - Parameter number: A number higher than all previously added numbers.
    package mutating func append(_ number: Int64, _ element: SetElement) {
      precondition(number > last, "internal error: proved rows are added in their order")
      last = number
      withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: element.bytes)
    }

    /// - Throws: `ioFailure` if the file can't be read.
    func contains(_ number: Int64, _ element: SetElement) throws(StoreError) -> Bool {
      let entries = try file?.block(for: number) ?? bytes
      var (low, high) = (0, entries.count / Self.entryByteCount)
      let end = high
      while low < high {
        let middle = (low + high) / 2
        if Self.number(middle, in: entries) < number { low = middle + 1 } else { high = middle }
      }
      guard low < end, Self.number(low, in: entries) == number else { return false }
      let start = low * Self.entryByteCount + 8
      return entries[start..<start + Self.elementByteCount].elementsEqual(element.bytes)
    }

    static func number(_ index: Int, in entries: [UInt8]) -> Int64 {
      entries.withUnsafeBytes {
        Int64(bigEndian: $0.loadUnaligned(fromByteOffset: index * entryByteCount, as: Int64.self))
      }
    }
  }

  package let documents: Rows
  package let collections: Rows
  package let attachments: Rows

  package init(documents: Rows, collections: Rows, attachments: Rows) {
    (self.documents, self.collections, self.attachments) = (documents, collections, attachments)
  }
}

extension StoreError {
  /// Returns the error for a store or row that doesn't match the release.
  ///
  /// - Parameters:
  ///   - what: The difference.
  ///   - hint: The next step, or `nil` for a store that's being opened as a release.
  package static func notAsReleased(
    _ what: String, hint: ErrorHint? = nil, documentID: DocumentID? = nil
  ) -> StoreError {
    let usual: ErrorHint =
      "if you edited the store, open it without a publisher; otherwise make it again from the publisher's folder"
    return StoreError(.notAsReleased, "not as released: \(what)", hint: hint ?? usual, documentID: documentID)
  }

  /// - Parameter what: The row, such as `document 7`.
  package static func changedSinceProof(_ what: String, documentID: DocumentID? = nil) -> StoreError {
    notAsReleased("\(what) was changed after the store was proved", documentID: documentID)
  }
}
