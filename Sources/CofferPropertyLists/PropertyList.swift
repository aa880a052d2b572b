internal import CofferDocuments

/// A property list in memory, whose records are read one by one as JSON.
///
/// Each dictionary in an array is a record. Each row of an ordered table `{autoincrement, data, index}` is also a
/// record, in the order of the index. Each top object of a keyed archive is a record, or each element if it's an array
/// of objects. Any other value is a single record. The caller keeps the bytes, and passes them to each call.
package struct PropertyList: Sendable {
  /// The expected content.
  package enum Content: Sendable {
    /// A keyed archive if the property list contains one, otherwise values.
    case automatic
    /// Values, even for a keyed archive.
    case values
    /// A keyed archive. Other property lists are a fault.
    case keyedArchive
  }

  /// Appends data as JSON.
  package typealias DataWriter = (UnsafeRawBufferPointer, inout [UInt8]) -> Void

  /// The member with the ID of an ordered table's row.
  package static let rowIDName: StaticString = "wgFileDbSecretId"

  private enum Form: Sendable {
    case xml
    case binary(BinaryPropertyListTrailer)
  }

  private let layout: PropertyListLayout
  private let form: Form
  private var budget: PropertyListBudget

  /// Checks an entire property list and finds its records.
  ///
  /// - Parameters:
  ///   - bytes: The property list from `start` to the end. XML must be UTF-8.
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
  /// Whether the records are rows of an ordered table.
  package var isTable: Bool { layout.isTable }
  /// The highest ID that an ordered table has ever assigned, if the table contains it.
  package var highestID: Int64? { layout.highestID }
  /// A fault after the last record. The records before it are valid.
  package var trailingFault: PropertyListFault? { layout.fault }

  /// Returns a row's ID, or `nil` unless the records are rows of an ordered table.
  package func rowID(ofRecord number: Int) -> [UInt8]? { layout.records[number].id }

  /// Appends a record as JSON, with members in order, without spaces, and with exact integers.
  ///
  /// - Parameter data: Appends data, possibly twice, or `nil` to append base64.
  /// - Returns: The range of the record's bytes that were read, and the record's fault, if it has one. The output is
  ///   then incomplete.
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

  /// Returns a binary property list's outermost value as JSON, or `nil` if the bytes aren't a binary property list.
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

/// A property list's fault, with its position in the bytes.
package struct PropertyListFault: Error {
  package enum Code: Sendable {
    case malformed
    case tooLarge
    /// Text that's invalid in its encoding.
    case undecodable
  }

  package let position: Int
  package let reason: String
  package var code = Code.malformed
}
