internal import ArgumentParser
internal import CofferFormats

/// The formats of `export --to`.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
  case ndjson, json, csv, tsv, text, plist, sqlite

  /// The format for an output's file name extension; for an unknown one, NDJSON, or CSV for a table.
  ///
  /// - Throws: `usage` for an extension whose format is not written.
  init(outputPath path: String?, isTable: Bool) throws {
    self = isTable ? .csv : .ndjson
    let name = path.map(InputFile.name(of:)) ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return }
    let ending = name[name.index(after: dot)...]
    if ending.lowercased() == "coffer" {
      throw Failure.usage("\(name) asks for a store, and an export is plain text", hint: "'copy' makes a new store")
    } else if ending.lowercased() == "txt" {
      self = .text
    } else if let format = InputFormat(pathExtension: ending).flatMap({ ExportFormat(rawValue: $0.rawValue) }) {
      self = format
    } else if ending.lowercased() == "plist" {
      self = .plist
    } else if ["sqlite", "sqlite3", "db", "db3"].contains(ending.lowercased()) {
      self = .sqlite
    } else if let other = Self.unsupportedKind(ofExtension: ending) {
      throw Failure.usage(
        "\(name) asks for \(other), which this version does not write",
        hint: "choose another name, or one of \(Self.allCases.map(\.rawValue).joined(separator: ", ")) with --to")
    }
  }

  /// The kind of file that users expect behind an extension that is not supported; nil for unknown extensions.
  private static func unsupportedKind(ofExtension ending: Substring) -> String? {
    switch ending.lowercased() {
    case "xlsx", "xlsm", "xls", "ods": "a spreadsheet"
    default: nil
    }
  }

  var isDelimited: Bool { self == .csv || self == .tsv }

  /// Holds the documents of one collection only.
  var isTable: Bool { isDelimited || self == .plist }

  /// The format defines its encoding.
  var hasFixedEncoding: Bool { !isDelimited && self != .text }
}
