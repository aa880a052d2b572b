internal import CofferRecords

/// Documents of any sequence as a source of drafts, for bulk insertion and synchronisation.
public struct DocumentSource<Elements: Sequence>: DraftSource {
  private var elements: Elements.Iterator
  private let document: (Elements.Element, Int) throws -> Document
  private var number = 0

  /// A source of the documents that a closure makes of the elements of a sequence.
  ///
  /// `document` gets each element with its number in the sequence, from 1. A call that throws ends the reading.
  public init(_ elements: Elements, _ document: @escaping (Elements.Element, Int) throws -> Document) {
    self.elements = elements.makeIterator()
    self.document = document
  }

  /// Appends the documents of the next elements to an emptied batch.
  ///
  /// - Returns: false, with nothing appended, when there are no more.
  /// - Throws: errors of the closure; `invalidArgument` for attributes that JSON can't hold.
  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    while batch.bytes.count < 256 << 10, batch.drafts.count < 512, let element = elements.next() {
      number += 1
      try batch.append(try document(element, number), record: number)
    }
    return !batch.isEmpty
  }
}

extension DocumentSource where Elements.Element == Document {
  /// A source of the documents of a sequence.
  public init(_ documents: Elements) {
    self.init(documents) { document, _ in document }
  }
}

extension DraftBatch {
  /// - Throws: `invalidArgument` for attributes that JSON can't hold.
  mutating func append(_ document: Document, record: Int) throws(StoreError) {
    if let fault = document.attributes.fault { throw StoreError.refusedAttributes(fault).of(record: record) }
    var draft = Draft(text: append(document.text.utf8), record: record)
    draft.title = document.title.map { append($0.utf8) }
    draft.key = document.key.map { append($0.bytes) }
    draft.attributes = document.attributes.isEmpty ? nil : append(document.attributes.canonicalJSON)
    draft.parent = document.parent
    draft.created = document.created
    draft.modified = document.modified
    draft.isJSON = document.isJSON
    drafts.append(draft)
  }

  mutating func append(_ part: some Collection<UInt8>) -> Range<Int> {
    let start = bytes.count
    bytes.append(contentsOf: part)
    return start..<bytes.count
  }
}
