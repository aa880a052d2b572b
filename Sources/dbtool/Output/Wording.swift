/// A number and what it counts: `1 document`, `2 documents`.
func counted(_ number: Int, _ thing: String) -> String {
  "\(number) \(thing)\(number == 1 ? "" : "s")"
}

/// Names from an input, for a message: so many that they stay readable, none of them as long as a text could be.
///
/// The first row of a table without a header is taken for names, and then they are somebody's text.
func listed(_ names: [String]) -> String {
  let (most, longest) = (20, 40)
  let shown = names.prefix(most).map { $0.count > longest ? $0.prefix(longest - 1) + "…" : $0[...] }
  return shown.joined(separator: ", ") + (names.count > most ? " and \(names.count - most) more" : "")
}
