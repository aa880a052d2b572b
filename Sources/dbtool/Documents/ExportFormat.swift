internal import ArgumentParser
internal import CofferFormats

/// What `export --to` may say.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
  case ndjson, json, csv, tsv, text, plist, sqlite, store

  /// The format that an output's name asks for; NDJSON where it does not say.
  ///
  /// - Throws: `usage` for an extension whose format is not written.
  init(outputPath path: String?) throws {
    self = .ndjson
    let name = path.map(InputFile.name(of:)) ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return }
    let ending = name[name.index(after: dot)...]
    if ending.lowercased() == "coffer" {
      self = .store
    } else if let format = InputFormat(pathExtension: ending).flatMap({ ExportFormat(rawValue: $0.rawValue) }) {
      self = format
    } else if ending.lowercased() == "plist" {
      self = .plist
    } else if ["sqlite", "sqlite3", "db", "db3"].contains(ending.lowercased()) {
      self = .sqlite
    } else if let other = Self.unwritten(ending: ending) {
      throw Failure.usage(
        "\(name) asks for \(other), which this version does not write",
        hint: "choose another name, or one of \(Self.allCases.map(\.rawValue).joined(separator: ", ")) with --to")
    }
  }

  /// What whoever gives a file this ending expects in it; nil where nobody can say, and NDJSON is as good as anything.
  private static func unwritten(ending: Substring) -> String? {
    switch ending.lowercased() {
    case "xlsx", "xlsm", "xls", "ods": "a spreadsheet"
    default: nil
    }
  }

  private var isDelimited: Bool { self == .csv || self == .tsv }

  /// Takes the documents of one collection.
  var isTable: Bool { isDelimited || self == .plist }

  /// Its encoding is its own affair.
  var hasFixedEncoding: Bool { !isDelimited && self != .text }
}
