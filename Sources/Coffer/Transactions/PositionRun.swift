internal import CofferRecords

/// Positions for documents that come in one behind the other, nobody knows how many.
///
/// A whole gap apart for the first eight million, then ever closer, so that a run never reaches what stands behind it.
struct PositionRun {
  /// A run at the top begins so far before what is there.
  private static let room: Int64 = 1 << 56
  /// The share of what is left that one step may take: 2^-23.
  private static let share: UInt64 = 23
  /// What packing leaves before the top: 64 runs at least.
  private static let packedRoom: UInt64 = 1 << 62

  private var next: Int64
  private let end: Int64

  /// From a position on, behind everything.
  init(from position: Int64) {
    next = position
    end = .max
  }

  /// Before the first document; nil where too little room is left there.
  init?(before top: Int64) {
    let (start, overflow) = top.subtractingReportingOverflow(Self.room)
    guard !overflow else { return nil }
    next = start
    end = top
  }

  /// - Throws: `tooLarge`.
  mutating func take() throws(StoreError) -> Int64 {
    let step = min(UInt64(StoreFormat.positionGap), UInt64(bitPattern: end &- next) >> Self.share)
    guard step > 0 else { throw StoreError(.tooLarge, "no more documents can be placed in this collection") }
    defer { next += Int64(step) }
    return next
  }

  /// Whether there is room enough before a position, once `count` documents stand right before it.
  static func hasRoom(before position: Int64, packing count: Int) -> Bool {
    let place = UInt64(bitPattern: position) ^ 1 << 63
    let packed = UInt64(count + 1) * UInt64(StoreFormat.positionGap)
    return place >= packed && place - packed >= packedRoom
  }
}
