internal import ArgumentParser

/// A number of bytes, from 1: `1048576`, `1024K`, `1M`, `1G`; units are powers of 1024.
struct ByteSize: ExpressibleByArgument {
  let bytes: Int

  init?(argument: String) {
    let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
    let unit = argument.last.flatMap { units[Character($0.uppercased())] }
    let digits = unit == nil ? argument[...] : argument.dropLast()
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits), number > 0,
      // The longest that is of use: a text of 256 MiB in which everything is escaped.
      number <= (16 << 30) / (unit ?? 1)
    else { return nil }
    bytes = number * (unit ?? 1)
  }
}
