public import CofferDocuments
internal import CofferPropertyLists

/// A sink that writes the documents of one collection to a binary property list, as an ordered table
/// `{autoincrement, data, index}`.
///
/// A row contains its ID as a string under `wgFileDbSecretId`, its `text`, its `title` if it has one, and `json` if the
/// text is a value. A value that is the JSON of a row with the same ID and title is restored as that row. The index
/// maps IDs to rows, from 0, and autoincrement is the highest ID ever assigned. If attributes are requested, a row's
/// attributes are a dictionary under `attributes`, in which a value that contains null is a JSON string.
/// ``PropertyListSource`` reads the IDs, titles, texts and order. Texts are written immediately, so memory grows by
/// about 50 bytes for each document.
public struct PropertyListSink<Output: ByteSink>: DocumentSink, Sendable {
  private var writer: BinaryPropertyListWriter<Output>
  /// The objects for the members' names.
  private var names: (id: UInt32, title: UInt32, text: UInt32) = (0, 0, 0)
  private var rows: [UInt32] = []
  private var ids: [UInt32] = []
  private var highestID: Int64
  private let writesAttributes: Bool

  /// Creates a sink that writes the list to `sink`.
  ///
  /// `highestID` is the highest ID ever assigned, if known. Documents may have higher IDs. Attributes are omitted
  /// unless `writesAttributes` is `true`.
  public init(_ sink: Output, highestID: Int64 = 0, writesAttributes: Bool = false) {
    self.highestID = highestID
    self.writesAttributes = writesAttributes
    writer = BinaryPropertyListWriter(sink)
  }

  /// The destination, complete after ``finish()``.
  public var sink: Output { writer.output.sink }

  public mutating func begin() throws(FormatError) {
    try writer.begin()
    names = (
      try writer.append(PropertyList.rowIDName.description), try writer.append("title"), try writer.append("text")
    )
  }

  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws(FormatError) {
    let header = document.header
    highestID = max(highestID, header.id.rawValue)
    let id = try writer.append(header.id.description)
    ids.append(id)
    let attributes = writesAttributes ? header.attributes : Attributes()
    if attributes.isEmpty, PropertyListRow.restores(document) {
      var scanner = JSONScanner(document.utf8)
      do {
        rows.append(try writer.append(json: &scanner))
        return
      } catch let error as FormatError {
        throw error
      } catch {
        preconditionFailure("internal error: a row that was whole is not JSON")
      }
    }
    var keys = [names.id]
    var values = [id]
    if let title = header.title {
      keys.append(names.title)
      values.append(try writer.append(title))
    }
    keys.append(names.text)
    values.append(try writer.append(utf8: document.utf8))
    if header.isJSON {
      keys.append(try writer.append(key: Array("json".utf8)))
      values.append(try writer.append(bool: true))
    }
    if !attributes.isEmpty {
      keys.append(try writer.append(key: Array("attributes".utf8)))
      values.append(try append(attributes))
    }
    rows.append(try writer.append(keys: keys, values: values))
  }

  /// Writes a value that contains null as a string, because a property list can't represent null.
  private mutating func append(_ attributes: Attributes) throws(FormatError) -> UInt32 {
    var members: [(name: [UInt8], json: [UInt8], holdsNull: Bool)] = []
    attributes.forEachMember { name, value, scanner in
      let json = Array(attributes.canonicalJSON[value.source])
      members.append((name, json, scanner.holdsNull(in: value)))
    }
    var keys: [UInt32] = []
    var values: [UInt32] = []
    for (name, json, holdsNull) in members {
      keys.append(try writer.append(key: name))
      values.append(
        holdsNull ? try writer.append(String(decoding: json, as: UTF8.self)) : try writer.append(json: json))
    }
    return try writer.append(keys: keys, values: values)
  }

  public mutating func finish() throws(FormatError) {
    var numbers: [UInt32] = []
    for row in rows.indices { numbers.append(try writer.append(String(row))) }
    let index = try writer.append(keys: ids, values: numbers)
    let keys = [try writer.append("autoincrement"), try writer.append("data"), try writer.append("index")]
    let values = [try writer.append(String(highestID)), try writer.append(array: rows), index]
    try writer.finish(top: try writer.append(keys: keys, values: values))
  }
}
