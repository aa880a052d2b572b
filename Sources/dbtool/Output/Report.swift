internal import CofferTerminal

/// One record of facts, printed as `name: value` lines for people, or as an object with `--json`.
struct Report {
  private let members: [(name: String, value: JSONValue)]
  private let labels: [String: String]
  private let words: [String: String]

  /// - Parameters:
  ///   - members: The names in JSON and their values. Absent values are omitted.
  ///   - labels: Different names for people. An empty label hides the member from people.
  ///   - words: Different values for people.
  init(_ members: [(String, JSONValue?)], labels: [String: String] = [:], words: [String: String] = [:]) {
    self.members = members.compactMap { name, value in value.map { (name, $0) } }
    self.labels = labels
    self.words = words
  }

  func write(as format: ListFormat?, to output: StandardOutput) throws {
    switch format {
    case .json, .ndjson:
      try output.write(line: JSONValue.object(members).serialized, isJSON: true)
    case .csv, .tsv:
      let separator = format == .csv ? "," : "\t"
      try output.write(line: "name\(separator)value")
      for (name, value) in Self.flattened(members) {
        try output.write(line: name + separator + Delimited.field(value.plainText, separator: separator))
      }
    case .table, nil:
      let lines = Self.flattened(members).compactMap { name, value in
        let label = labels[name] ?? name.replacing("_", with: " ")
        return label.isEmpty ? nil : (label: label, value: words[name] ?? value.plainText)
      }
      let width = lines.map { displayWidth($0.label) }.max() ?? 0
      for (label, value) in lines {
        let label = label + ":"
        let padding = String(repeating: " ", count: width + 2 - displayWidth(label))
        try output.write(line: label + padding + escapingControls(value))
      }
    }
  }

  /// Prints only the report.
  func print(as format: ListFormat?) throws {
    let output = StandardOutput()
    try write(as: format, to: output)
    try output.flush()
  }

  /// Names nested members `outer.inner`, and array elements by their number from 1.
  private static func flattened(
    _ members: [(name: String, value: JSONValue)], under prefix: String = ""
  ) -> [(name: String, value: JSONValue)] {
    members.flatMap { name, value -> [(name: String, value: JSONValue)] in
      switch value {
      case .object(let inner):
        return flattened(inner, under: prefix + name + ".")
      case .array(let elements):
        let numbered = elements.enumerated().map { (name: "\(name) \($0.offset + 1)", value: $0.element) }
        return flattened(numbered, under: prefix)
      default:
        return [(prefix + name, value)]
      }
    }
  }
}
