/// A number of bytes as text: `0 bytes`, `1 byte`, `1.9 MB`.
///
/// Decimal units, as files and disks are sold and shown: 1 kB is 1000 bytes. Two significant digits below 10, whole
/// numbers above; rounded to nearest, and shown in the next unit if rounding reaches it.
public struct ByteCount: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The number of bytes.
  public let bytes: Int64

  /// A number of bytes; numbers beyond 64 bits are clamped.
  public init(_ bytes: some BinaryInteger) {
    self.bytes = Int64(clamping: bytes)
  }

  public var description: String {
    guard bytes.magnitude >= 1000 else { return bytes.magnitude == 1 ? "\(bytes) byte" : "\(bytes) bytes" }
    let sign = bytes < 0 ? "-" : ""
    var unit: UInt64 = 1000
    for name in ["kB", "MB", "GB", "TB", "PB", "EB"] {
      // In tenths, rounded half up; using the remainder keeps it exact where the product would overflow.
      let tenths = bytes.magnitude / unit * 10 + (bytes.magnitude % unit * 10 + unit / 2) / unit
      if tenths < 100 { return "\(sign)\(tenths / 10).\(tenths % 10) \(name)" }
      let whole = bytes.magnitude / unit + (bytes.magnitude % unit >= unit / 2 ? 1 : 0)
      if whole < 1000 || name == "EB" { return "\(sign)\(whole) \(name)" }
      unit *= 1000
    }
    preconditionFailure("internal error: a number of bytes beyond exabytes")
  }

  public static func < (lhs: ByteCount, rhs: ByteCount) -> Bool { lhs.bytes < rhs.bytes }
}
