internal import CofferRecords

/// Positions for a run of documents, placed one behind the other; their number is unknown in advance.
///
/// A whole gap apart for the first eight million, then ever closer, so that a run never reaches the document behind it.
struct PositionRun {
  /// A run at the top begins this far before the first document.
  private static let room: Int64 = 1 << 56
  /// The share of the remaining positions that one step may take: 2^-23.
  private static let share: UInt64 = 23
  /// The room that packing leaves before the top: 64 runs at least.
  private static let packedRoom: UInt64 = 1 << 62

  private var next: Int64
  private let end: Int64

  /// A run from a position on, behind every document.
  init(from position: Int64) {
    next = position
    end = .max
  }

  /// A run before the first document; nil if too little room is left there.
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

  /// Whether enough room is left before a position after `count` documents are packed right before it.
  static func hasRoom(before position: Int64, packing count: Int) -> Bool {
    let place = UInt64(bitPattern: position) ^ 1 << 63
    let packed = UInt64(count + 1) * UInt64(StoreFormat.positionGap)
    return place >= packed && place - packed >= packedRoom
  }
}
