internal import CofferRecords

/// The positions for consecutive documents, if their number isn't known in advance.
///
/// The first eight million positions are a whole gap apart. Later gaps shrink, so a run never reaches the next
/// document.
struct PositionRun {
  /// The distance from the start of a run at the top to the first document.
  private static let room: Int64 = 1 << 56
  /// The shift that limits a step to 2^-23 of the remaining positions.
  private static let share: UInt64 = 23
  /// The minimum number of positions that packing leaves before the top, enough for 64 runs.
  private static let minimumFreePositions: UInt64 = 1 << 62

  private var next: Int64
  private let end: Int64

  /// Creates a run that starts at a position after all documents.
  init(from position: Int64) {
    next = position
    end = .max
  }

  /// Creates a run before the first document, or returns `nil` if too few positions are left.
  init?(before top: Int64) {
    let (start, overflow) = top.subtractingReportingOverflow(Self.room)
    guard !overflow else { return nil }
    next = start
    end = top
  }

  /// Returns the next position, or throws `tooLarge` if the run is full.
  mutating func take() throws(StoreError) -> Int64 {
    let step = min(UInt64(StoreFormat.positionGap), UInt64(bitPattern: end &- next) >> Self.share)
    guard step > 0 else { throw StoreError(.tooLarge, "no more documents can be placed in this collection") }
    defer { next += Int64(step) }
    return next
  }

  /// Returns whether enough positions remain after `count` documents are packed right before `position`.
  static func hasRoom(before position: Int64, packing count: Int) -> Bool {
    let place = UInt64(bitPattern: position) ^ 1 << 63
    let packed = UInt64(count + 1) * UInt64(StoreFormat.positionGap)
    return place >= packed && place - packed >= minimumFreePositions
  }
}
