internal import CofferDocuments

/// A reader for an XML property list that's already decoded to UTF-8.
///
/// A place is an element's offset in the buffer. The reader supports only the XML that property lists need. A document
/// type can name Apple's definition, which is never fetched, but can't contain declarations. References are limited to
/// characters and XML's five predefined entities.
struct XMLPropertyListReader: PropertyListReader {
  var markup: XMLMarkup
  /// The open elements, with the innermost last.
  private var open: [Element] = []
  /// Whether the last event was a key, so its value is next.
  private var hasKey = false
  /// Whether an empty array or dictionary, written as a single tag, was opened and must be closed next.
  private var endsAtOnce = false
  /// The beginning of the last step. `place` isn't before it after the step has found its element.
  private var stepStart = 0
  var bytes: [UInt8] = []
  private(set) var place: Int
  private(set) var root: Int
  var budget: PropertyListBudget
  var readsReferences = false

  private enum Element {
    case array, dictionary

    var name: XMLName { self == .array ? "array" : "dict" }
  }

  /// Reads everything before the outermost value.
  init(_ text: UnsafeRawBufferPointer, from start: Int) throws(PropertyListFault) {
    markup = XMLMarkup(text, from: start)
    budget = PropertyListBudget(inputByteCount: text.count - start)
    (root, place) = (start, start)
    try markup.readProlog()
    try markup.skipBetweenElements()
    (root, place) = (markup.position, markup.position)
    guard !markup.isAtEndTag else { throw markup.fault("a property list without a value") }
  }

  /// Continues with a value of a previously read property list.
  init(_ text: UnsafeRawBufferPointer, resumingAt place: Int, budget: PropertyListBudget) {
    markup = XMLMarkup(text, from: place)
    (root, self.place) = (place, place)
    self.budget = budget
  }

  /// Reads everything after the outermost value.
  mutating func finish() throws(PropertyListFault) {
    try markup.readEpilog()
  }

  mutating func move(to place: Int) {
    open.removeAll(keepingCapacity: true)
    (hasKey, endsAtOnce) = (false, false)
    markup.position = place
  }

  func range(of place: Int) -> Range<Int> {
    place..<max(place + 1, markup.position)
  }

  mutating func next() throws(PropertyListFault) -> PropertyListEvent {
    if endsAtOnce { return leave() }
    stepStart = markup.position
    try markup.skipBetweenElements()
    let isInDictionary = open.last == .dictionary
    place = markup.position
    if let element = open.last, markup.isAtEndTag {
      if hasKey { throw markup.fault("a key without a value") }
      try markup.readEndTag(element.name)
      return leave()
    }
    let tag = try markup.readStartTag()
    guard isInDictionary, !hasKey else {
      hasKey = false
      let event = try value(tag)
      return try charge(event)
    }
    guard tag.name == "key" else { throw fault("a value without a key") }
    try readText(tag)
    hasKey = true
    return try charge(.key)
  }

  /// Skips the container, checking only for well-formed XML, so a fault in one value doesn't hide others.
  mutating func skipContainer() throws(PropertyListFault) {
    if !endsAtOnce { try markup.skipContent(of: open[open.count - 1].name) }
    _ = leave()
  }

  /// Skips the invalid value, checking only for well-formed XML. Fails at a mismatched end tag.
  mutating func stepBehindFault() -> Bool {
    guard place >= stepStart else { return false }
    let before = markup
    markup.position = place
    do throws(PropertyListFault) {
      let tag = try markup.readStartTag()
      if !tag.isEmpty { try markup.skipContent(of: tag.name) }
      (hasKey, endsAtOnce) = (false, false)
      return true
    } catch {
      markup = before
      return false
    }
  }

  private mutating func leave() -> PropertyListEvent {
    endsAtOnce = false
    return open.removeLast() == .array ? .endArray : .endDictionary
  }

  private mutating func charge(_ event: PropertyListEvent) throws(PropertyListFault) -> PropertyListEvent {
    guard budget.spend(bytes.count) else { throw fault(PropertyListLimits.tooMuch, code: .tooLarge) }
    return event
  }

  private mutating func value(_ tag: XMLMarkup.Tag) throws(PropertyListFault) -> PropertyListEvent {
    bytes.removeAll(keepingCapacity: true)
    switch tag.name {
    case "array":
      return try enter(.array, tag)
    case "dict":
      if readsReferences, !tag.isEmpty, let reference = reference() { return .uid(reference) }
      return try enter(.dictionary, tag)
    case "string":
      try readText(tag)
      return .string
    case "data":
      try readText(tag)
      return try decodeBase64()
    case "integer":
      try readText(tag)
      guard let number = Int128(plistInteger: bytes) else {
        throw fault("an integer that is none, or does not fit into 64 bits")
      }
      return .integer(number)
    case "real":
      try readText(tag)
      guard let number = Double(plistReal: bytes) else { throw fault("a real that is none, or beyond a double") }
      return .real(number)
    case "date":
      try readText(tag)
      guard let date = Timestamp(plistDate: bytes) else {
        throw fault("a date that is none, or outside the years 0000 to 9999")
      }
      return .date(date)
    case "true", "false":
      try readText(tag)
      guard bytes.allSatisfy(XMLMarkup.isSpace) else { throw fault("text inside a true or false") }
      bytes.removeAll(keepingCapacity: true)
      return .bool(tag.name == "true")
    case "key":
      throw fault("a key where a value belongs")
    default:
      throw fault("an element that property lists do not have")
    }
  }

  private mutating func enter(_ element: Element, _ tag: XMLMarkup.Tag) throws(PropertyListFault) -> PropertyListEvent {
    guard open.count < PropertyListLimits.depth else { throw fault(PropertyListLimits.tooDeep) }
    open.append(element)
    endsAtOnce = tag.isEmpty
    return element == .array ? .beginArray : .beginDictionary
  }

  private mutating func readText(_ tag: XMLMarkup.Tag) throws(PropertyListFault) {
    bytes.removeAll(keepingCapacity: true)
    if !tag.isEmpty { try markup.readText(of: tag, into: &bytes) }
  }

  private mutating func decodeBase64() throws(PropertyListFault) -> PropertyListEvent {
    let text = bytes.filter { !XMLMarkup.isSpace($0) }
    bytes.removeAll(keepingCapacity: true)
    guard text.withUnsafeBytes({ Base64.append(decoding: $0, to: &bytes) }) else {
      throw fault("data that is not Base64")
    }
    return .data
  }

  /// Skips the rest of a dictionary that is a reference. Other dictionaries remain unread.
  private mutating func reference() -> UInt64? {
    let before = markup
    do throws(PropertyListFault) {
      try markup.skipBetweenElements()
      var text: [UInt8] = []
      let key = try markup.readStartTag()
      if key.name == "key", !key.isEmpty {
        try markup.readText(of: key, into: &text)
        try markup.skipBetweenElements()
        if text.elementsEqual("CF$UID".utf8), case let number = try markup.readStartTag(), number.name == "integer",
          !number.isEmpty
        {
          text.removeAll()
          try markup.readText(of: number, into: &text)
          try markup.skipBetweenElements()
          if let value = Int128(plistInteger: text), let reference = UInt64(exactly: value), markup.isAtEndTag {
            try markup.readEndTag("dict")
            return reference
          }
        }
      }
    } catch {
      // Reading the value as a dictionary finds and reports the same fault.
    }
    markup = before
    return nil
  }
}
