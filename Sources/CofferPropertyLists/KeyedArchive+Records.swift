// If an archive's root is an array of objects, each object is a record, like the dictionaries in a property list's
// array.
extension KeyedArchive {
  /// Replaces each root that's an array of objects with its elements.
  mutating func expandArrays(_ reader: some PropertyListReader) {
    var walk = KeyedArchiveJSON(self, reader, output: [])
    var arrays: Set<Int> = []
    var places: [Int] = []
    for root in records {
      // Reading the record reports its fault.
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
  /// The classes of values that aren't records.
  private static var values: [String] {
    arrays + [
      "NSNull", "NSString", "NSMutableString", "NSData", "NSMutableData", "NSDate", "NSNumber", "NSURL", "NSUUID",
    ]
  }

  /// Returns the array that a root refers to: its number, the places of its elements, and the numbers of the elements
  /// with an app's class. Returns `nil` if the root isn't an array, or has elements other than objects and
  /// dictionaries.
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
      // Dictionaries are always written in full, like values.
      if !Self.dictionaries.contains(name) { objects.insert(element) }
    }
    return (number, places, objects)
  }

  /// Returns the referenced object.
  private mutating func reference(at place: Int) throws(PropertyListFault) -> Int? {
    reader.move(to: place)
    guard case .uid(let number) = try reader.next() else { return nil }
    return try index(of: number)
  }

  /// Returns an object's class, or `nil` if it doesn't have one.
  private mutating func className(of number: Int) throws(PropertyListFault) -> String? {
    reader.move(to: object(number))
    guard case .beginDictionary = try reader.next(), let place = try PropertyListMembers(&reader)["$class"] else {
      return nil
    }
    return String(decoding: try className(at: place), as: UTF8.self)
  }

  /// Returns the numbers that all objects except these refer to.
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
