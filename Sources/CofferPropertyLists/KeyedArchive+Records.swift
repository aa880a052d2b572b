// An archive whose root is an array of objects has a record for each, as an array of dictionaries in a property list.
extension KeyedArchive {
  /// Replaces each root that is an array of objects by its elements.
  mutating func expandArrays(_ reader: some PropertyListReader) {
    var walk = KeyedArchiveJSON(self, reader, output: [])
    var arrays: Set<Int> = []
    var places: [Int] = []
    for root in records {
      // A fault is one of the record, which reading it reports.
      if let array = try? walk.array(at: root), !array.elements.isEmpty {
        arrays.insert(array.number)
        places += array.elements
        elements.formUnion(array.objects)
      } else {
        places.append(root)
      }
    }
    records = places
    if !elements.isEmpty { linkedElements = walk.references(besides: arrays).intersection(elements) }
    elements.formUnion(arrays)
  }
}

extension KeyedArchiveJSON {
  private static var arrays: [String] {
    ["NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSMutableOrderedSet"]
  }
  private static var dictionaries: [String] { ["NSDictionary", "NSMutableDictionary"] }
  /// Classes of values that are no records.
  private static var values: [String] {
    arrays + [
      "NSNull", "NSString", "NSMutableString", "NSData", "NSMutableData", "NSDate", "NSNumber", "NSURL", "NSUUID",
    ]
  }

  /// Returns the array that a root refers to: its number, the places of its elements, and the numbers of those that are
  /// objects of an app's class; `nil` if it is no array, or has other elements than objects and dictionaries.
  fileprivate mutating func array(
    at root: Int
  ) throws(PropertyListFault) -> (number: Int, elements: [Int], objects: Set<Int>)? {
    guard let number = try reference(at: root), let name = try className(of: number), Self.arrays.contains(name) else {
      return nil
    }
    reader.move(to: object(number))
    _ = try reader.next()
    guard let places = try list(try PropertyListMembers(&reader), "NS.objects", "NS.object.", besides: 1) else {
      return nil
    }
    var objects: Set<Int> = []
    for place in places {
      guard let element = try reference(at: place), let name = try className(of: element),
        !Self.values.contains(name)
      else { return nil }
      // Dictionaries are written in full wherever they are, as values are.
      if !Self.dictionaries.contains(name) { objects.insert(element) }
    }
    return (number, places, objects)
  }

  /// The object that a reference names.
  private mutating func reference(at place: Int) throws(PropertyListFault) -> Int? {
    reader.move(to: place)
    guard case .uid(let number) = try reader.next() else { return nil }
    return try index(of: number)
  }

  /// The class of an object; nil for anything without one.
  private mutating func className(of number: Int) throws(PropertyListFault) -> String? {
    reader.move(to: object(number))
    guard case .beginDictionary = try reader.next(), let place = try PropertyListMembers(&reader)["$class"] else {
      return nil
    }
    return String(decoding: try className(at: place), as: UTF8.self)
  }

  /// The numbers that all objects refer to, save these.
  fileprivate mutating func references(besides others: Set<Int>) -> Set<Int> {
    var references: Set<Int> = []
    for number in 0..<objectCount where !others.contains(number) {
      reader.move(to: object(number))
      var depth = 0
      repeat {
        guard let event = try? reader.next() else { break }
        switch event {
        case .beginArray, .beginDictionary: depth += 1
        case .endArray, .endDictionary: depth -= 1
        case .uid(let number): references.insert(Int(clamping: number))
        default: break
        }
      } while depth > 0
    }
    return references
  }
}
