internal import CofferDocuments

/// One step through a property list.
///
/// The bytes of a key, string or data are in ``PropertyListReader/bytes`` until the next step.
enum PropertyListEvent {
  case beginArray
  case endArray
  case beginDictionary
  case endDictionary
  case key
  case string
  case data
  case integer(Int128)
  case real(Double)
  case date(Timestamp)
  case bool(Bool)
  case null
  /// A reference inside a keyed archive.
  case uid(UInt64)
}

/// A pull parser for property lists, XML or binary: one event for each step. Builds nothing.
protocol PropertyListReader {
  /// The outermost value.
  var root: Int { get }
  /// UTF-8 of the last key or string, or the last data.
  var bytes: [UInt8] { get }
  /// The value that the last event began, for ``move(to:)``.
  var place: Int { get }
  /// The budget left by reading so far.
  var budget: PropertyListBudget { get set }

  /// Continues with the value at a place, and ends behind it.
  mutating func move(to place: Int)

  mutating func next() throws(PropertyListFault) -> PropertyListEvent

  /// Steps over the rest of the array or dictionary that began last, with as few checks as finding its end takes.
  mutating func skipContainer() throws(PropertyListFault)

  /// Steps over the faulty value at `place`.
  ///
  /// - Returns: false where its end cannot be found.
  mutating func stepBehindFault() -> Bool

  /// The bytes of the input from a place to where reading has come, as far as the form allows to say.
  func range(of place: Int) -> Range<Int>

  /// Takes a dictionary of `CF$UID` alone for a reference, as XML writes those of keyed archives.
  var readsReferences: Bool { get set }
}

extension PropertyListReader {
  /// Steps over the value that began with this event.
  mutating func skip(_ event: PropertyListEvent) throws(PropertyListFault) {
    switch event {
    case .beginArray, .beginDictionary: try skipContainer()
    default: break
    }
  }

  func fault(_ reason: String, code: PropertyListFault.Code = .malformed) -> PropertyListFault {
    PropertyListFault(position: range(of: place).lowerBound, reason: reason, code: code)
  }
}

/// Limits the output of a property list, in which any number of places may share one object.
///
/// Counts values and bytes as they are written out, not objects as they are stored: thirty small objects can expand to a
/// billion values.
struct PropertyListBudget: Sendable {
  private var values: Int
  private var byteCount: Int

  /// Far more than a file of that length holds without sharing.
  init(inputByteCount: Int) {
    values = 100_000 + 8 * inputByteCount
    byteCount = (16 << 20) + 64 * inputByteCount
  }

  /// Nothing is left: every further value is refused unread.
  var isSpent: Bool { values < 0 || byteCount < 0 }

  /// Charges one value of `count` bytes; false when the budget is exceeded.
  mutating func spend(_ count: Int = 0) -> Bool {
    values -= 1
    byteCount -= count
    return values >= 0 && byteCount >= 0
  }
}

enum PropertyListLimits {
  /// The deepest nesting of arrays and dictionaries.
  static let depth = JSONScanner.maximumDepth
  static let tooDeep = "more than \(depth) arrays and dictionaries inside each other"
  static let tooMuch = "objects shared so often that they expand to far more than the file holds"
  static let repeatedKey = "a dictionary with the same key twice"
}
