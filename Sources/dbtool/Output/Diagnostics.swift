internal import Glibc

/// Warnings and notes on standard error; none under `--quiet`.
struct Diagnostics: Sendable {
  let isQuiet: Bool

  func note(_ text: String) {
    if !isQuiet { Self.print("dbtool: \(text)") }
  }

  func warning(_ text: String) {
    if !isQuiet { Self.print("dbtool: warning: \(text)") }
  }

  /// A finding that determines the exit code, printed even under `--quiet`.
  func finding(_ text: String) {
    Self.print("dbtool: \(text)")
  }

  /// Prints one line in one write. Control characters of names and paths are escaped: a name with a line end in it
  /// could otherwise pass for a message of ours.
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
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(STDERR_FILENO, rest.baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
  }
}

/// The text without the digits of a key or identity given in place of a path.
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

/// Escapes control characters, with which a title or name could steer a terminal.
///
/// - Parameters:
///   - kept: control characters that may stay.
///   - isJSON: the text is JSON, and stays JSON: `\u001b` in place of `\u{1B}`.
func escapingControls(_ text: String, keeping kept: Set<Unicode.Scalar> = [], isJSON: Bool = false) -> String {
  guard mayHoldControls(text) else { return text }
  var escaped = ""
  for scalar in text.unicodeScalars {
    guard isControl(scalar), !kept.contains(scalar) else {
      escaped.unicodeScalars.append(scalar)
      continue
    }
    let digits = String(scalar.value, radix: 16, uppercase: !isJSON)
    switch scalar {
    case "\n": escaped += "\\n"
    case "\r": escaped += "\\r"
    case "\t": escaped += "\\t"
    case _ where isJSON: escaped += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    default: escaped += "\\u{" + digits + "}"
    }
  }
  return escaped
}

/// The text on one line of a plain list: its tabs and line ends as `\t`, `\n` and `\r`, all else as it is.
func escapingLineEnds(_ text: String) -> String {
  guard text.utf8.contains(where: { (0x09...0x0D).contains($0) }) else { return text }
  var escaped = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\t": escaped += "\\t"
    case "\n": escaped += "\\n"
    case "\r": escaped += "\\r"
    default: escaped.unicodeScalars.append(scalar)
    }
  }
  return escaped
}

/// A quick test, false for most texts: every control character begins with one of these bytes.
private func mayHoldControls(_ text: String) -> Bool {
  text.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xD8 || $0 == 0xE2 }
}

/// C0, DEL, C1, and the marks that turn the direction of a line around.
private func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: return true
  default: return false
  }
}

/// A number with its noun: `1 document`, `2 documents`.
func counted(_ number: Int, _ thing: String) -> String {
  "\(number) \(thing)\(number == 1 ? "" : "s")"
}

/// `524,288`.
func grouped(_ number: some BinaryInteger) -> String {
  var digits = String(number)
  var place = digits.count - 3
  while place > 0 {
    digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
    place -= 3
  }
  return digits
}

/// Names from an input, for a message, limited in number and length.
///
/// In a table without a header the first row is taken for names, and may be document text.
func listed(_ names: [String]) -> String {
  let (most, longest) = (20, 40)
  let shown = names.prefix(most).map { $0.count > longest ? $0.prefix(longest - 1) + "…" : $0[...] }
  return shown.joined(separator: ", ") + (names.count > most ? " and \(names.count - most) more" : "")
}
