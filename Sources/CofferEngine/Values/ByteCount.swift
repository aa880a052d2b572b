/// A byte count that is formatted as `0 bytes`, `1 byte` or `1.9 MB`.
///
/// The units are decimal, as usual for files and disks, so 1 kB is 1000 bytes. Values below 10 have two significant
/// digits, and larger values are whole numbers. Values are rounded to nearest, and use the next unit if rounding
/// reaches it.
package struct ByteCount: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The number of bytes.
  package let bytes: Int64

  /// Creates a byte count. Numbers beyond 64 bits are clamped.
  package init(_ bytes: some BinaryInteger) {
    self.bytes = Int64(clamping: bytes)
  }

  package var description: String {
    guard bytes.magnitude >= 1000 else { return bytes.magnitude == 1 ? "\(bytes) byte" : "\(bytes) bytes" }
    let sign = bytes < 0 ? "-" : ""
    var unit: UInt64 = 1000
    for name in ["kB", "MB", "GB", "TB", "PB", "EB"] {
      // Compute tenths, rounded half up. Use the remainder to stay exact, because the product could overflow.
      let tenths = bytes.magnitude / unit * 10 + (bytes.magnitude % unit * 10 + unit / 2) / unit
      if tenths < 100 { return "\(sign)\(tenths / 10).\(tenths % 10) \(name)" }
      let whole = bytes.magnitude / unit + (bytes.magnitude % unit >= unit / 2 ? 1 : 0)
      if whole < 1000 || name == "EB" { return "\(sign)\(whole) \(name)" }
      unit *= 1000
    }
    preconditionFailure("internal error: a number of bytes beyond exabytes")
  }

  package static func < (lhs: ByteCount, rhs: ByteCount) -> Bool { lhs.bytes < rhs.bytes }
}
