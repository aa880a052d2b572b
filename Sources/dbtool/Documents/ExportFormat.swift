internal import ArgumentParser
internal import CofferFormats

/// The formats of `export --to`.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
  case ndjson, json, csv, tsv, text, plist, sqlite

  /// Creates the format for a path's extension. For an unknown extension, uses NDJSON, or CSV for a table.
  ///
  /// - Throws: `usage` for the extension of a format that `export` doesn't write.
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

  /// Returns the kind of file for an unsupported extension, or `nil` for an unknown extension.
  private static func unsupportedKind(ofExtension ending: Substring) -> String? {
    switch ending.lowercased() {
    case "xlsx", "xlsm", "xls", "ods": "a spreadsheet"
    default: nil
    }
  }

  var isDelimited: Bool { self == .csv || self == .tsv }

  /// A Boolean value that indicates whether the format holds the documents of only one collection.
  var isTable: Bool { isDelimited || self == .plist }

  /// A Boolean value that indicates whether the format defines its encoding.
  var hasFixedEncoding: Bool { !isDelimited && self != .text }
}
