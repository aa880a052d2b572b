/// The temporary names of incomplete files and folders.
///
/// A name consists of a prefix, 16 lowercase hex digits and a suffix. Eight digits are random, and eight are a checksum
/// of the prefix and these digits. The checksum distinguishes our names from similar names that other programs choose.
package enum TemporaryName {
  /// Returns the name for a store or key file that gets `name` when it's complete: `.NAME.<16 digits>.new`.
  package static func beside(_ name: String) -> String {
    // A name has at most 255 bytes, including a journal's suffix.
    let start = name.utf8.count > 200 ? String(name.unicodeScalars.prefix(50)) : name
    return make(".\(start).", ".new")
  }

  /// Returns the name for a command's output: `.dbtool-<16 digits>`.
  package static func output() -> String { make(".dbtool-") }

  /// Returns the name for a folder with a text to edit: `dbtool-<16 digits>`.
  package static func draft() -> String { make("dbtool-") }

  /// Returns the name for a folder with a private copy of a file: `coffer-<16 digits>`.
  package static func privateCopy() -> String { make("coffer-") }

  private static let fixedPrefixes = [".dbtool-", "dbtool-", "coffer-"]
  private static let digitCount = 16

  private static func make(_ prefix: String, _ suffix: String = "") -> String {
    let random = digits(.random(in: .min ... .max))
    return prefix + random + checksum(prefix + random) + suffix
  }

  /// Returns whether a name has one of these forms and its checksum.
  package static func isOurs(_ name: String) -> Bool {
    let isBeside = name.hasSuffix(".new")
    let rest = Array(name.utf8.dropLast(isBeside ? 4 : 0))
    guard rest.count > digitCount else { return false }
    let prefix = String(decoding: rest.dropLast(digitCount), as: UTF8.self)
    let isKnown =
      isBeside
      ? prefix.hasPrefix(".") && prefix.hasSuffix(".") && prefix.utf8.count > 2 : fixedPrefixes.contains(prefix)
    let text = String(decoding: rest.suffix(digitCount), as: UTF8.self)
    return isKnown && text.suffix(8) == checksum(prefix + text.prefix(8))
  }

  /// Returns the 32-bit FNV-1a hash as eight hex digits.
  private static func checksum(_ text: String) -> String {
    digits(text.utf8.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 })
  }

  private static func digits(_ number: UInt32) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 8 - text.utf8.count) + text
  }
}
