internal import CofferDocuments

// Foundation's own classes, which JSON can represent directly. To preserve all data, an object with additional fields
// is written field by field.
extension KeyedArchiveJSON {
  /// Appends an object of one of these classes.
  ///
  /// - Returns: `false`, without appending, for other objects.
  mutating func appendFoundationObject(
    _ members: PropertyListMembers, _ className: [UInt8], _ number: Int
  ) throws(PropertyListFault) -> Bool {
    switch String(decoding: className, as: UTF8.self) {
    case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSMutableOrderedSet":
      guard let places = try list(members, "NS.objects", "NS.object.", besides: 1),
        members["NS.objects"] != nil || members.count == places.count + 1
      else { return false }
      try appendArray(places, of: number)
      return true
    case "NSDictionary", "NSMutableDictionary":
      return try appendDictionary(members, number)
    case "NSNull":
      guard members.count == 1 else { return false }
      output += "null".utf8
      return true
    case "NSString", "NSMutableString":
      return try appendString(members)
    case "NSData", "NSMutableData":
      guard let place = only("NS.data", of: members) ?? only("NS.bytes", of: members),
        case (.data, let bytes)? = try scalar(at: place)
      else { return false }
      append(.data, bytes)
      return true
    case "NSDate":
      return try appendDate(members)
    case "NSNumber":
      guard
        let place = only("NS.number", of: members) ?? only("NS.boolval", of: members) ?? only("NS.intval", of: members)
          ?? only("NS.dblval", of: members), let (event, bytes) = try scalar(at: place)
      else { return false }
      append(event, bytes)
      return true
    case "NSURL":
      guard members.count == 3, let base = members["NS.base"], let relative = members["NS.relative"],
        case (.null, _)? = try scalar(at: base), case (.string, let text)? = try scalar(at: relative)
      else { return false }
      PropertyListJSON.appendString(text, to: &output)
      return true
    case "NSUUID":
      guard let place = only("NS.uuidbytes", of: members), case (.data, let bytes)? = try scalar(at: place),
        bytes.count == 16
      else { return false }
      PropertyListJSON.appendString(Self.uuid(bytes), to: &output)
      return true
    default:
      return false
    }
  }

  /// Returns a member's place if the class is the only other member.
  private func only(_ name: StaticString, of members: PropertyListMembers) -> Int? {
    members.count == 2 ? members[name] : nil
  }

  /// Returns the value at a place, or the object that a reference there names. Returns `nil` for arrays and
  /// dictionaries.
  private mutating func scalar(at place: Int) throws(PropertyListFault) -> (PropertyListEvent, [UInt8])? {
    reader.move(to: place)
    var event = try reader.next()
    if case .uid(let reference) = event {
      let number = try index(of: reference)
      reader.move(to: object(number))
      event = try reader.next()
      if number == 0, case .string = event, reader.bytes.elementsEqual("$null".utf8) { return (.null, []) }
    }
    switch event {
    case .beginArray, .beginDictionary, .uid: return nil
    default: return (event, reader.bytes)
    }
  }

  /// Returns the places of elements, which are in one array or in numbered members.
  ///
  /// - Parameter besides: The number of other members.
  mutating func list(
    _ members: PropertyListMembers, _ name: StaticString, _ prefix: String, besides: Int
  ) throws(PropertyListFault) -> [Int]? {
    if let place = members[name] {
      guard members.count == besides + 1 else { return nil }
      reader.move(to: place)
      guard case .beginArray = try reader.next() else { return nil }
      return try elements()
    }
    let numbered = Dictionary(zip(members.keys, members.places)) { first, _ in first }
    var places: [Int] = []
    while let place = numbered[Array("\(prefix)\(places.count)".utf8)] { places.append(place) }
    return members.count >= places.count + besides ? places : nil
  }

  private mutating func appendDictionary(
    _ members: PropertyListMembers, _ number: Int
  ) throws(PropertyListFault) -> Bool {
    let isNumbered = members["NS.keys"] == nil
    guard let keys = try list(members, "NS.keys", "NS.key.", besides: isNumbered ? 1 : 2),
      let values = try list(members, "NS.objects", "NS.object.", besides: isNumbered ? 1 : 2),
      keys.count == values.count, !isNumbered || members.count == 2 * keys.count + 1
    else { return false }
    var names: [[UInt8]] = []
    for key in keys {
      // JSON only has string keys, so other dictionaries are written as their underlying lists.
      guard case (.string, let text)? = try scalar(at: key) else { return false }
      var name: [UInt8] = []
      PropertyListJSON.appendString(text, to: &name)
      names.append(name)
    }
    guard Set(names).count == names.count else { return false }
    try appendDictionary(names, values, of: number)
    return true
  }

  private mutating func appendString(_ members: PropertyListMembers) throws(PropertyListFault) -> Bool {
    if let place = only("NS.string", of: members), case (.string, let text)? = try scalar(at: place) {
      PropertyListJSON.appendString(text, to: &output)
      return true
    }
    guard let place = only("NS.bytes", of: members), case (.data, let bytes)? = try scalar(at: place),
      String(validating: bytes, as: UTF8.self) != nil
    else { return false }
    PropertyListJSON.appendString(bytes, to: &output)
    return true
  }

  private mutating func appendDate(_ members: PropertyListMembers) throws(PropertyListFault) -> Bool {
    guard let place = only("NS.time", of: members), let (event, _) = try scalar(at: place) else { return false }
    let seconds: Double
    switch event {
    case .real(let value): seconds = value
    case .integer(let value): seconds = Double(value)
    default: return false
    }
    guard let date = Timestamp(secondsSince2001: seconds) else { return false }
    PropertyListJSON.append(.date(date), [], to: &output)
    return true
  }

  private static func uuid(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
      text += [byte >> 4, byte & 0xF].map { Hexadecimal.digit($0, uppercase: true) }
    }
    return text
  }
}
