internal import CofferPlatform
internal import CofferTerminal

/// Prints warnings and notes on standard error, unless `--quiet` is given.
struct Diagnostics: Sendable {
  let isQuiet: Bool
  var isVerbose = false

  /// Prints a note for `--verbose`.
  func detail(_ text: @autoclosure () -> String) {
    if isVerbose { Self.print("dbtool: \(text())") }
  }

  func note(_ text: String) {
    if !isQuiet { Self.print("dbtool: \(text)") }
  }

  func warning(_ text: String) {
    if !isQuiet { Self.print("dbtool: warning: \(text)") }
  }

  /// Prints a finding that determines the exit code, even with `--quiet`.
  func finding(_ text: String) {
    Self.print("dbtool: \(text)")
  }

  /// Prints one line in one write. Escapes control characters in names and paths, because a name with a line end could
  /// otherwise imitate a message of this command.
  static func print(_ line: String) {
    write(line: escapingControls(withoutKeys(line)))
  }

  /// Prints an object for other programs on one line.
  static func print(_ json: JSONValue) {
    write(line: escapingControls(withoutKeys(json.serialized), isJSON: true))
  }

  private static func write(line: String) {
    var text = line + "\n"
    Progress.clear()
    text.withUTF8 { _ = FileBytes.writeAll(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
  }
}

/// Returns the text without the digits of a key or identity that was given instead of a path.
private func withoutKeys(_ text: String) -> String {
  guard text.contains("coffer-") else { return text }
  var text = text
  for prefix in CommandWords.secretPrefixes {
    var start = text.startIndex
    while let found = text[start...].firstRange(of: prefix) {
      let end = text[found.upperBound...].firstIndex { !$0.isHexDigit } ?? text.endIndex
      let place = text.distance(from: text.startIndex, to: found.upperBound)
      text.replaceSubrange(found.upperBound..<end, with: "…")
      start = text.index(text.startIndex, offsetBy: place)
    }
  }
  return text
}

/// Returns the text on one line of a plain list, with tabs, line ends and backslashes as `\t`, `\n`, `\r` and `\\`.
/// Different texts remain different.
func escapingSeparators(_ text: String) -> String {
  guard text.utf8.contains(where: { (0x09...0x0D).contains($0) || $0 == UInt8(ascii: "\\") }) else { return text }
  var escaped = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\t": escaped += "\\t"
    case "\n": escaped += "\\n"
    case "\r": escaped += "\\r"
    case "\\": escaped += "\\\\"
    default: escaped.unicodeScalars.append(scalar)
    }
  }
  return escaped
}

/// Returns a number with its noun, such as `1 document` or `2 documents`.
func counted(_ number: Int, _ thing: String) -> String {
  "\(number) \(thing)\(number == 1 ? "" : "s")"
}

/// Returns names from an input for a message, limited in number and length.
///
/// In a table without a header, the first row is used as names, and can be document text.
func listed(_ names: [String]) -> String {
  let (most, longest) = (20, 40)
  let shown = names.prefix(most).map { $0.count > longest ? $0.prefix(longest - 1) + "…" : $0[...] }
  return shown.joined(separator: ", ") + (names.count > most ? " and \(names.count - most) more" : "")
}
