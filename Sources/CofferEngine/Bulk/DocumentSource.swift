internal import CofferRecords

/// A source of drafts for bulk insertion and synchronization that reads documents from any sequence.
package struct DocumentSource<Elements: Sequence>: DraftSource {
  private var elements: Elements.Iterator
  private let document: (Elements.Element, Int) throws -> (Document, isUsualTitle: Bool)
  private var number = 0

  /// Creates a source that converts the elements of a sequence to documents.
  ///
  /// The closure receives each element and its number, starting at 1, and returns the document, and whether its title
  /// is for a new document only. Throwing from it ends the reading.
  package init(
    _ elements: Elements, _ document: @escaping (Elements.Element, Int) throws -> (Document, isUsualTitle: Bool)
  ) {
    self.elements = elements.makeIterator()
    self.document = document
  }

  /// Appends the documents of the next elements to an empty batch.
  ///
  /// - Returns: `false` if the sequence has ended and the batch is still empty.
  /// - Throws: An error of the closure, or `invalidArgument` if JSON can't represent the attributes.
  package mutating func read(into batch: inout DraftBatch) throws -> Bool {
    while batch.bytes.count < 256 << 10, batch.drafts.count < 512, let element = elements.next() {
      number += 1
      let (document, isUsualTitle) = try document(element, number)
      try batch.append(document, record: number)
      batch.drafts[batch.drafts.count - 1].isUsualTitle = isUsualTitle
    }
    return !batch.isEmpty
  }
}

extension DocumentSource where Elements.Element == Document {
  /// Creates a source from a sequence of documents.
  package init(_ documents: Elements) {
    self.init(documents) { document, _ in (document, isUsualTitle: false) }
  }
}

extension DraftBatch {
  /// - Throws: `invalidArgument` if JSON can't represent the attributes.
  package mutating func append(_ document: Document, record: Int) throws(StoreError) {
    if let fault = document.attributes.fault { throw StoreError.refusedAttributes(fault).of(record: record) }
    var draft = Draft(text: append(document.text.utf8), record: record)
    draft.title = document.title.map { append($0.utf8) }
    draft.key = document.key.map { append($0.bytes) }
    draft.attributes = document.attributes.isEmpty ? nil : append(document.attributes.canonicalJSON)
    draft.parent = document.parent
    draft.created = document.created
    draft.modified = document.modified
    draft.hasSeparateDates = true
    draft.isJSON = document.isJSON
    drafts.append(draft)
  }

  package mutating func append(_ part: some Collection<UInt8>) -> Range<Int> {
    let start = bytes.count
    bytes.append(contentsOf: part)
    return start..<bytes.count
  }
}
