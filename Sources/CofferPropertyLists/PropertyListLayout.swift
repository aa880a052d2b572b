internal import CofferDocuments

/// The positions of the values of a property list's records, in order.
struct PropertyListLayout: Sendable {
  struct Record: Sendable {
    let place: Int
    /// The row's ID.
    var id: [UInt8]?
  }

  var records: [Record] = []
  /// Whether the records are rows of an ordered table.
  private(set) var isTable = false
  /// The table's `autoincrement`, which is the highest ID that was ever assigned.
  private(set) var highestID: Int64?
  /// The keyed archive, if the property list is one. Its records are its top objects, or the elements of top objects
  /// that are arrays of objects.
  private(set) var archive: KeyedArchive?
  /// A fault after the records.
  private(set) var fault: PropertyListFault?

  /// Reads the whole property list once, from its beginning.
  init<Reader: PropertyListReader>(
    _ reader: inout Reader, content: PropertyList.Content,
    finish: (inout Reader) throws(PropertyListFault) -> Void
  ) throws(PropertyListFault) {
    switch try reader.next() {
    case .beginArray where content != .keyedArchive:
      if try readArray(&reader, finish) { return }
    case .beginDictionary:
      if try readDictionary(&reader, content, finish) { return }
    case let event:
      try reader.skip(event)
      try finish(&reader)
    }
    guard content != .keyedArchive else {
      throw PropertyListFault(position: reader.range(of: reader.root).lowerBound, reason: "not a keyed archive")
    }
    records = [Record(place: reader.root)]
  }

  /// - Returns: `false` if the array contains elements that aren't dictionaries.
  private mutating func readArray<Reader: PropertyListReader>(
    _ reader: inout Reader, _ finish: (inout Reader) throws(PropertyListFault) -> Void
  ) throws(PropertyListFault) -> Bool {
    var isOfDictionaries = true
    do throws(PropertyListFault) {
      loop: while true {
        switch try element(&reader) {
        case .endArray: break loop
        case .beginDictionary:
          let place = reader.place
          try reader.skipContainer()
          records.append(Record(place: place))
        case nil:
          records.append(Record(place: reader.place))
        case let event?:
          isOfDictionaries = false
          try reader.skip(event)
        }
      }
      try finish(&reader)
    } catch {
      // The records before the fault are valid.
      guard isOfDictionaries, !records.isEmpty else { throw error }
      fault = error
    }
    if !isOfDictionaries { records = [] }
    return isOfDictionaries
  }

  /// Returns the first event of an array's next element, or `nil` for an invalid element, which can be a record.
  private func element<Reader: PropertyListReader>(
    _ reader: inout Reader
  ) throws(PropertyListFault) -> PropertyListEvent? {
    do throws(PropertyListFault) {
      return try reader.next()
    } catch {
      guard error.code != .tooLarge, reader.stepBehindFault() else { throw error }
      return nil
    }
  }

  /// - Returns: `false` if the dictionary isn't an ordered table or a keyed archive.
  private mutating func readDictionary<Reader: PropertyListReader>(
    _ reader: inout Reader, _ content: PropertyList.Content,
    _ finish: (inout Reader) throws(PropertyListFault) -> Void
  ) throws(PropertyListFault) -> Bool {
    let members = try PropertyListMembers(&reader)
    try finish(&reader)
    if content != .values, let archive = try KeyedArchive(members, &reader) {
      self.archive = archive
      records = archive.records.map { Record(place: $0) }
      return true
    }
    guard content != .keyedArchive, members.count == 3, let counter = members["autoincrement"],
      let data = members["data"], let index = members["index"], try readTable(&reader, data: data, index: index)
    else { return false }
    reader.move(to: counter)
    let event = try reader.next()
    highestID = Int(decimal: event, reader.bytes).map(Int64.init)
    return true
  }

  private mutating func readTable(
    _ reader: inout some PropertyListReader, data: Int, index: Int
  ) throws(PropertyListFault) -> Bool {
    reader.move(to: data)
    guard case .beginArray = try reader.next() else { return false }
    var rows: [Record] = []
    loop: while true {
      switch try element(&reader) {
      case .endArray: break loop
      case .beginDictionary:
        rows.append(Record(place: reader.place))
        try reader.skipContainer()
      case nil:
        rows.append(Record(place: reader.place))
      default: return false
      }
    }
    reader.move(to: index)
    guard case .beginDictionary = try reader.next() else { return false }
    var numbers: [[UInt8]: Int] = [:]
    var ids: [Int: [UInt8]] = [:]
    while case .key = try reader.next() {
      let id = reader.bytes
      guard let event = try element(&reader) else { continue }
      try reader.skip(event)
      guard let number = Int(decimal: event, reader.bytes) else { continue }
      numbers[id] = number
      ids[number] = id
    }
    for row in rows.indices {
      rows[row].id = Self.id(of: rows[row].place, &reader) ?? ids[row]
    }
    let order = rows.indices.map { row in (rows[row].id.flatMap { numbers[$0] } ?? .max, row) }
    records = order.sorted { $0 < $1 }.map { rows[$0.1] }
    isTable = true
    return true
  }

  /// Returns a row's ID, or `nil` if it's missing or follows a fault. Reading the row itself reports the fault.
  private static func id(of row: Int, _ reader: inout some PropertyListReader) -> [UInt8]? {
    do throws(PropertyListFault) {
      reader.move(to: row)
      _ = try reader.next()
      while case .key = try reader.next() {
        let isID = PropertyList.rowIDName.withUTF8Buffer(reader.bytes.elementsEqual)
        let event = try reader.next()
        if isID {
          switch event {
          case .string: return reader.bytes
          case .integer(let number): return Array(String(number).utf8)
          default: break
          }
        }
        try reader.skip(event)
      }
    } catch {
      return nil
    }
    return nil
  }
}

/// The positions of the values of a dictionary's members.
struct PropertyListMembers {
  private(set) var keys: [[UInt8]] = []
  private(set) var places: [Int] = []

  /// Reads the rest of the last begun dictionary.
  init(_ reader: inout some PropertyListReader) throws(PropertyListFault) {
    while case .key = try reader.next() {
      keys.append(reader.bytes)
      let event = try reader.next()
      places.append(reader.place)
      try reader.skip(event)
    }
  }

  var count: Int { keys.count }

  subscript(name: StaticString) -> Int? {
    keys.firstIndex { key in name.withUTF8Buffer(key.elementsEqual) }.map { places[$0] }
  }
}

extension Int {
  /// Reads a row's number from a string or an integer.
  fileprivate init?(decimal event: PropertyListEvent, _ bytes: [UInt8]) {
    switch event {
    case .integer(let number): self.init(exactly: number)
    case .string: self.init(String(decoding: bytes, as: UTF8.self))
    default: return nil
    }
  }
}
