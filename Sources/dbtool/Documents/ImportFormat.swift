internal import ArgumentParser
internal import CofferFormats

/// What `--from` may say.
enum ImportFormat: String, CaseIterable, ExpressibleByArgument {
  case auto, text, lines, csv, tsv, json, ndjson, plist
  case keyedArchive = "keyed-archive"
  case sqlite

  static var names: String { allCases.dropFirst().map(\.rawValue).joined(separator: "|") }
}

extension ImportFormat {
  /// Nil: to be found out.
  var format: InputFormat? { InputFormat(rawValue: rawValue) }
}
