internal import CofferDocuments

/// An event while reading a property list.
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

/// A pull parser for XML or binary property lists. Each step returns one event, and the parser doesn't build values.
protocol PropertyListReader {
  /// The outermost value's place.
  var root: Int { get }
  /// The UTF-8 bytes of the last key or string, or the last data.
  var bytes: [UInt8] { get }
  /// The place of the value that the last event began, for ``move(to:)``.
  var place: Int { get }
  /// The remaining budget after reading so far.
  var budget: PropertyListBudget { get set }

  /// Continues with the value at a place, and ends after it.
  mutating func move(to place: Int)

  mutating func next() throws(PropertyListFault) -> PropertyListEvent

  /// Skips the rest of the array or dictionary that began last, with only the checks needed to find its end.
  mutating func skipContainer() throws(PropertyListFault)

  /// Skips the invalid value at `place`.
  ///
  /// - Returns: `false` if the value's end can't be found.
  mutating func stepBehindFault() -> Bool

  /// Returns the range of input bytes from a place to the current position, if the format determines it.
  func range(of place: Int) -> Range<Int>

  /// Whether a dictionary with only `CF$UID` is a reference, as in XML keyed archives.
  var readsReferences: Bool { get set }
}

extension PropertyListReader {
  /// Skips the value that began with this event.
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

/// A limit for a property list's output, because any number of places can share an object.
///
/// The budget counts written values and bytes rather than stored objects, because thirty small objects can expand to a
/// billion values.
struct PropertyListBudget: Sendable {
  private var values: Int
  private var byteCount: Int

  /// Creates a budget that far exceeds the content of a file with this length without sharing.
  init(inputByteCount: Int) {
    values = 100_000 + 8 * inputByteCount
    byteCount = (16 << 20) + 64 * inputByteCount
  }

  /// Whether the budget is spent, so further values are rejected without reading.
  var isSpent: Bool { values < 0 || byteCount < 0 }

  /// Charges a value with `count` bytes. Returns `false` if the budget is exceeded.
  mutating func spend(_ count: Int = 0) -> Bool {
    values -= 1
    byteCount -= count
    return values >= 0 && byteCount >= 0
  }
}

enum PropertyListLimits {
  /// The maximum nesting of arrays and dictionaries.
  static let depth = JSONScanner.maximumDepth
  static let tooDeep = "more than \(depth) arrays and dictionaries inside each other"
  static let tooMuch = "objects shared so often that they expand to far more than the file holds"
  static let repeatedKey = "a dictionary with the same key twice"
}
