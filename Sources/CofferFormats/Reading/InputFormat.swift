/// What an input may be; the raw value is the name that people give it.
public enum InputFormat: String, CaseIterable, Hashable, Sendable {
  case text
  case lines
  case csv
  case tsv
  case json
  case ndjson
  case plist
  case keyedArchive = "keyed-archive"
  case sqlite

  /// What a file of that extension usually is: `csv`, `tsv`, `tab`, `json`, `ndjson`, `jsonl`; nil for others.
  public init?(pathExtension: some StringProtocol) {
    switch pathExtension.lowercased() {
    case "csv": self = .csv
    case "tsv", "tab": self = .tsv
    case "json": self = .json
    case "ndjson", "jsonl": self = .ndjson
    default: return nil
    }
  }
}
