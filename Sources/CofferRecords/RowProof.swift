package import CofferDocuments
package import CofferSealing

/// The rows that were compared with a release when a store was opened, by their numbers.
///
/// A slot holder has all keys and can seal a row of any content at any time. So a row that is read later has to be one of
/// these, by the element that covers the whole row.
package final class RowProof: Sendable {
  /// The rows of one table.
  package struct Rows: Sendable {
    private var numbers: [Int64] = []
    private var elements: [SetElement] = []

    package init() {}

    /// - Parameter number: A number greater than those added before.
    package mutating func append(_ number: Int64, _ element: SetElement) {
      precondition(number > numbers.last ?? .min, "internal error: proved rows are added in their order")
      numbers.append(number)
      elements.append(element)
    }

    func contains(_ number: Int64, _ element: SetElement) -> Bool {
      var (low, high) = (0, numbers.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[middle] < number { low = middle + 1 } else { high = middle }
      }
      return low < numbers.count && numbers[low] == number && elements[low] == element
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
  /// The error for a row that isn't one of the release's.
  ///
  /// - Parameter what: The row, such as `document 7`.
  package static func notAsReleased(_ what: String, documentID: DocumentID? = nil) -> StoreError {
    StoreError(
      .notAsReleased, "not as released: \(what)",
      hint: "get the release again from its publisher; if it was changed on purpose, open it without a publisher",
      documentID: documentID)
  }

  package static func changedSinceProof(_ what: String, documentID: DocumentID? = nil) -> StoreError {
    notAsReleased("\(what) was changed after the store was opened", documentID: documentID)
  }
}
