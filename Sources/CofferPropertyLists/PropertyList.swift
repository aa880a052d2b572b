internal import CofferDocuments

/// A property list in memory, whose records are read one by one, as JSON.
///
/// An array of dictionaries has a record for each, and so has an ordered table `{autoincrement, data, index}`, in the
/// order of its index; a keyed archive has one for each top object, or for each element of one that is an array of
/// objects; any other value is one record. The bytes stay the caller's, who passes the same ones to each call.
package struct PropertyList: Sendable {
  /// The expected content.
  package enum Content: Sendable {
    /// A keyed archive if it is one, otherwise values.
    case automatic
    /// Values, even those of a keyed archive.
    case values
    /// A keyed archive; anything else is a fault.
    case keyedArchive
  }

  /// Appends data as JSON.
  package typealias DataWriter = (UnsafeRawBufferPointer, inout [UInt8]) -> Void

  /// The member in which rows of an ordered table carry their id.
  package static let rowIDName: StaticString = "wgFileDbSecretId"

  private enum Form: Sendable {
    case xml
    case binary(BinaryPropertyListTrailer)
  }

  private let layout: PropertyListLayout
  private let form: Form
  private var budget: PropertyListBudget

  /// Checks a whole property list and finds its records.
  ///
  /// - Parameters:
  ///   - bytes: the property list from `start` to the end; XML in UTF-8.
  package init(
    _ bytes: UnsafeRawBufferPointer, from start: Int = 0, as content: Content
  ) throws(PropertyListFault) {
    let file = UnsafeRawBufferPointer(rebasing: bytes[start...])
    if Self.isBinary(file) {
      let trailer = try BinaryPropertyListTrailer(file, base: start)
      var reader = BinaryPropertyListReader(
        file, base: start, trailer: trailer, budget: PropertyListBudget(inputByteCount: file.count))
      layout = try PropertyListLayout(&reader, content: content) { _ throws(PropertyListFault) in }
      form = .binary(trailer)
      budget = reader.budget
    } else {
      var reader = try XMLPropertyListReader(bytes, from: start)
      layout = try PropertyListLayout(&reader, content: content) { reader throws(PropertyListFault) in
        try reader.finish()
      }
      form = .xml
      budget = reader.budget
    }
  }

  package static func isBinary(_ head: some Sequence<UInt8>) -> Bool {
    head.starts(with: "bplist".utf8)
  }

  package var recordCount: Int { layout.records.count }
  package var isKeyedArchive: Bool { layout.archive != nil }
  /// The records are rows of an ordered table.
  package var isTable: Bool { layout.isTable }
  /// The highest id that an ordered table has ever given, if it says so.
  package var highestID: Int64? { layout.highestID }
  /// A fault behind the last record; the records before it are sound.
  package var trailingFault: PropertyListFault? { layout.fault }

  /// The id of a row; nil in anything but an ordered table.
  package func rowID(ofRecord number: Int) -> [UInt8]? { layout.records[number].id }

  /// Appends one record as JSON: members in their order, without spaces, integers exact.
  ///
  /// - Parameter data: Appends data, possibly twice, or `nil` to append base64.
  /// - Returns: the record's range in the bytes, as far as it was read, and its fault, if it has one: the output is then
  ///   incomplete.
  package mutating func appendJSON(
    ofRecord number: Int, in bytes: UnsafeRawBufferPointer, from start: Int, to output: inout [UInt8],
    data: DataWriter? = nil
  ) -> (range: Range<Int>, fault: PropertyListFault?) {
    switch form {
    case .xml:
      let place = layout.records[number].place
      return append(number, XMLPropertyListReader(bytes, resumingAt: place, budget: budget), to: &output, data)
    case .binary(let trailer):
      let file = UnsafeRawBufferPointer(rebasing: bytes[start...])
      return append(
        number, BinaryPropertyListReader(file, base: start, trailer: trailer, budget: budget), to: &output, data)
    }
  }

  private mutating func append(
    _ number: Int, _ reader: some PropertyListReader, to output: inout [UInt8], _ data: DataWriter?
  ) -> (range: Range<Int>, fault: PropertyListFault?) {
    var reader = reader
    let place = layout.records[number].place
    var fault: PropertyListFault?
    do throws(PropertyListFault) {
      if let archive = layout.archive {
        try archive.append(record: number, &reader, to: &output, data: data)
      } else {
        reader.move(to: place)
        var writer = PropertyListJSON(data: data)
        try writer.append(&reader, to: &output)
      }
    } catch {
      fault = error
    }
    budget = reader.budget
    return (reader.range(of: place), fault)
  }

  /// The outermost value of a binary property list as JSON, of any kind; nil if the bytes are no binary property list.
  package static func json(ofBinary bytes: [UInt8]) -> [UInt8]? {
    bytes.withUnsafeBytes { file in
      var json: [UInt8] = []
      do throws(PropertyListFault) {
        let trailer = try BinaryPropertyListTrailer(file, base: 0)
        var reader = BinaryPropertyListReader(
          file, base: 0, trailer: trailer, budget: PropertyListBudget(inputByteCount: file.count))
        var writer = PropertyListJSON()
        try writer.append(&reader, to: &json)
        return json
      } catch {
        return nil
      }
    }
  }
}

/// A fault of a property list, with its position in the bytes.
package struct PropertyListFault: Error {
  package enum Code: Sendable {
    case malformed
    case tooLarge
    /// Text that is not text in its encoding.
    case undecodable
  }

  package let position: Int
  package let reason: String
  package var code = Code.malformed
}
