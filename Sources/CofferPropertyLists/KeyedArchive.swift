internal import CofferDocuments

/// The object graph in an NSKeyedArchiver property list, as a table whose objects refer to each other by number.
///
/// Classes aren't instantiated. An object consists of its named fields.
struct KeyedArchive: Sendable {
  /// The places of the records, which are the graph's roots. Roots that are arrays of objects are replaced by their
  /// elements.
  var records: [Int]
  /// The places of all objects, by number.
  let objects: [Int]
  /// The elements that are separate records, and their arrays. Records refer to these objects by number.
  var elements: Set<Int> = []
  /// The elements with an `$id`, because other objects refer to them.
  var linkedElements: Set<Int> = []

  /// Reads the graph, or returns `nil` if the outermost dictionary isn't a keyed archive.
  init?(_ root: PropertyListMembers, _ reader: inout some PropertyListReader) throws(PropertyListFault) {
    guard let archiver = root["$archiver"], let table = root["$objects"], let top = root["$top"] else { return nil }
    reader.readsReferences = true
    reader.move(to: archiver)
    guard case .string = try reader.next() else {
      throw reader.fault("a keyed archive that does not name its archiver")
    }
    reader.move(to: table)
    guard case .beginArray = try reader.next() else { throw reader.fault("a keyed archive without objects") }
    var objects: [Int] = []
    loop: while true {
      let event = try reader.next()
      if case .endArray = event { break loop }
      objects.append(reader.place)
      try reader.skip(event)
    }
    self.objects = objects
    reader.move(to: top)
    guard case .beginDictionary = try reader.next() else { throw reader.fault("a keyed archive without a top object") }
    let members = try PropertyListMembers(&reader)
    records = members.places
    expandArrays(reader)
  }

  /// Appends a record as JSON.
  func append(
    record: Int, _ reader: inout some PropertyListReader, to output: inout [UInt8], data: PropertyList.DataWriter?
  ) throws(PropertyListFault) {
    let start = output.count
    reader.readsReferences = true
    // Shared objects are known only after all objects have been read, so a second pass adds each `$id`.
    var writer = KeyedArchiveJSON(self, reader, output: output, data: data)
    // A rejected record has also spent its part of the budget.
    defer { reader = writer.reader }
    try writer.appendRecord(at: records[record])
    if writer.needsSecondPass {
      writer.restart(keeping: start)
      try writer.appendRecord(at: records[record])
    }
    output = writer.output
  }
}

/// A writer that converts a record and the objects that it refers to into JSON.
struct KeyedArchiveJSON<Reader: PropertyListReader> {
  private let archive: KeyedArchive
  var reader: Reader
  var output: [UInt8]
  private let start: Int
  private let data: PropertyList.DataWriter?
  /// The objects with more than one reference, which get an `$id`.
  private(set) var shared: Set<Int> = []
  /// The current record's object.
  private var element: Int?
  /// The objects whose fields have already been written.
  private var written: Set<Int> = []
  /// The arrays, sets and dictionaries that are currently being written, including the innermost.
  private var path: Set<Int> = []
  private var depth = 0
  private var classes: [Int: [UInt8]] = [:]

  init(_ archive: KeyedArchive, _ reader: Reader, output: [UInt8], data: PropertyList.DataWriter? = nil) {
    self.data = data
    self.archive = archive
    self.reader = reader
    self.output = output
    start = output.count
  }

  mutating func restart(keeping count: Int) {
    output.removeLast(output.count - count)
    written = []
    path = []
  }

  /// Whether objects turned out to be shared after they were written.
  var needsSecondPass: Bool { !shared.isSubset(of: archive.linkedElements) }

  /// Appends a record's value.
  mutating func appendRecord(at place: Int) throws(PropertyListFault) {
    reader.move(to: place)
    if case .uid(let number) = try reader.next() {
      let number = try index(of: number)
      element = number
      if archive.linkedElements.contains(number) { shared.insert(number) }
    }
    try appendValue(at: place)
  }

  /// Appends the value at a place, or the object if the value is a reference.
  mutating func appendValue(at place: Int) throws(PropertyListFault) {
    guard output.count - start <= Document.maximumTextByteCount else { throw reader.tooLong() }
    guard depth < PropertyListLimits.depth else { throw reader.fault(PropertyListLimits.tooDeep) }
    depth += 1
    reader.move(to: place)
    switch try reader.next() {
    case .uid(let number): try appendObject(try index(of: number))
    case .beginArray: try appendArray(try elements())
    case .beginDictionary: try appendFields(try PropertyListMembers(&reader), of: nil, number: nil)
    case let event: append(event, reader.bytes)
    }
    depth -= 1
  }

  mutating func append(_ event: PropertyListEvent, _ bytes: [UInt8]) {
    PropertyListJSON.append(event, bytes, to: &output, data: data)
  }

  func object(_ number: Int) -> Int { archive.objects[number] }
  var objectCount: Int { archive.objects.count }

  func index(of number: UInt64) throws(PropertyListFault) -> Int {
    guard number < UInt64(archive.objects.count) else {
      throw reader.fault("a reference to an object that is not there")
    }
    return Int(number)
  }

  private mutating func appendObject(_ number: Int) throws(PropertyListFault) {
    let isOtherRecord = number != element && archive.elements.contains(number)
    if isOtherRecord || written.contains(number) || path.contains(number) {
      if !isOtherRecord { shared.insert(number) }
      output += "{\"$ref\":\(number)}".utf8
      return
    }
    reader.move(to: archive.objects[number])
    switch try reader.next() {
    case .beginDictionary:
      let members = try PropertyListMembers(&reader)
      guard let place = members["$class"] else { return try appendFields(members, of: nil, number: nil) }
      let name = try className(at: place)
      if !shared.contains(number), try appendFoundationObject(members, name, number) { return }
      written.insert(number)
      try appendFields(members, of: name, number: shared.contains(number) ? number : nil)
    case .beginArray:
      try appendArray(try elements(), of: number)
    case .string where number == 0 && reader.bytes.elementsEqual("$null".utf8):
      output += "null".utf8
    case .uid:
      throw reader.fault("an object that is a reference")
    case let event:
      append(event, reader.bytes)
    }
  }

  mutating func className(at place: Int) throws(PropertyListFault) -> [UInt8] {
    reader.move(to: place)
    guard case .uid(let reference) = try reader.next() else { throw reader.fault("an object without a class") }
    let number = try index(of: reference)
    if let name = classes[number] { return name }
    reader.move(to: archive.objects[number])
    guard case .beginDictionary = try reader.next(), let place = try PropertyListMembers(&reader)["$classname"] else {
      throw reader.fault("a class without a name")
    }
    reader.move(to: place)
    guard case .string = try reader.next() else { throw reader.fault("a class without a name") }
    classes[number] = reader.bytes
    return reader.bytes
  }

  /// Returns the places of an array's elements, after the reader has read the array's beginning.
  mutating func elements() throws(PropertyListFault) -> [Int] {
    var places: [Int] = []
    while true {
      let event = try reader.next()
      if case .endArray = event { return places }
      places.append(reader.place)
      try reader.skip(event)
    }
  }

  /// - Parameter number: The array's object number, to detect a cycle through the array.
  mutating func appendArray(_ places: [Int], of number: Int? = nil) throws(PropertyListFault) {
    if let number { path.insert(number) }
    output.append(JSONByte.openBracket)
    for (index, place) in places.enumerated() {
      if index > 0 { output.append(JSONByte.comma) }
      try appendValue(at: place)
    }
    output.append(JSONByte.closeBracket)
    if let number { path.remove(number) }
  }

  /// - Parameter names: The names in JSON, including the quotes.
  mutating func appendDictionary(
    _ names: [[UInt8]], _ places: [Int], of number: Int
  ) throws(PropertyListFault) {
    path.insert(number)
    output.append(JSONByte.openBrace)
    for (index, place) in places.enumerated() {
      if index > 0 { output.append(JSONByte.comma) }
      output += names[index]
      output.append(JSONByte.colon)
      try appendValue(at: place)
    }
    output.append(JSONByte.closeBrace)
    path.remove(number)
  }

  /// Appends an object's fields after its class and number.
  private mutating func appendFields(
    _ members: PropertyListMembers, of className: [UInt8]?, number: Int?
  ) throws(PropertyListFault) {
    output.append(JSONByte.openBrace)
    var isFirst = true
    if let className {
      output += "\"$class\":".utf8
      PropertyListJSON.appendString(className, to: &output)
      isFirst = false
    }
    if let number { output += ",\"$id\":\(number)".utf8 }
    var names: [Range<Int>] = []
    var keys: [UInt8] = []
    for (key, place) in zip(members.keys, members.places) {
      names.append(keys.count..<keys.count + key.count)
      keys += key
      if className != nil, key.elementsEqual("$class".utf8) { continue }
      if !isFirst { output.append(JSONByte.comma) }
      isFirst = false
      PropertyListJSON.appendString(key, to: &output)
      output.append(JSONByte.colon)
      try appendValue(at: place)
    }
    output.append(JSONByte.closeBrace)
    if keys.repeatsAny(of: names[...]) { throw reader.fault(PropertyListLimits.repeatedKey) }
  }
}
