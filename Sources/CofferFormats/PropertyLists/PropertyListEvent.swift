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

/// Walks over a property list, XML or binary, value by value. Builds nothing.
protocol PropertyListReader {
  /// The outermost value.
  var root: Int { get }
  /// UTF-8 of the last key or string, or the last data.
  var bytes: [UInt8] { get }
  /// The value that the last event began, for ``move(to:)``.
  var place: Int { get }
  /// What the whole walk has cost so far.
  var budget: PropertyListBudget { get set }

  /// Goes on with the value at a place, and with nothing behind it.
  mutating func move(to place: Int)

  mutating func next() throws(PropertyListFault) -> PropertyListEvent

  /// Steps over the rest of the array or dictionary that began last, without looking into it more than it must.
  mutating func skipContainer() throws(PropertyListFault)

  /// Goes behind the value at `place`, which is wrong, so that the next step is to what comes after it.
  ///
  /// - Returns: false where nobody can say where it ends.
  mutating func stepBehindFault() -> Bool

  /// Where in the input a place is, and how far the walk has come from there as far as that can be said.
  func range(of place: Int) -> Range<Int>

  /// A dictionary of `CF$UID` alone is a reference, as XML writes those of keyed archives.
  var readsReferences: Bool { get set }
}

extension PropertyListReader {
  /// Steps over a value whose first event has come.
  mutating func skip(_ event: PropertyListEvent) throws(PropertyListFault) {
    switch event {
    case .beginArray, .beginDictionary: try skipContainer()
    default: break
    }
  }

  func fault(_ reason: String, code: FormatError.Code = .malformed) -> PropertyListFault {
    PropertyListFault(position: range(of: place).lowerBound, reason: reason, code: code)
  }
}

/// What is wrong with a property list, and where in the buffer.
struct PropertyListFault: Error {
  let position: Int
  let reason: String
  var code = FormatError.Code.malformed
}

/// How much may come out of a property list, in which any number of places may share one object.
///
/// Counted are values and their bytes as they are written out, not objects as they are stored: thirty small objects can
/// stand for a billion values.
struct PropertyListBudget: Sendable {
  private var values: Int
  private var byteCount: Int

  /// Far more than a file of that length says without sharing.
  init(inputByteCount: Int) {
    values = 100_000 + 8 * inputByteCount
    byteCount = (16 << 20) + 64 * inputByteCount
  }

  /// All of it is spent: whatever comes, there is no need to look at it.
  var isSpent: Bool { values < 0 || byteCount < 0 }

  /// Charges a value with so many bytes; false when that is too much.
  mutating func spend(_ count: Int = 0) -> Bool {
    values -= 1
    byteCount -= count
    return values >= 0 && byteCount >= 0
  }
}

enum PropertyListLimits {
  /// How deep arrays and dictionaries may stand in each other.
  static let depth = JSONScanner.maximumDepth
  static let tooDeep = "more than \(depth) arrays and dictionaries inside each other"
  static let tooMuch = "objects shared so often that they stand for far more than the file holds"
  static let repeatedKey = "a dictionary with the same key twice"
}
