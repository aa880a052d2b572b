internal import ArgumentParser
internal import CofferFormats

/// What `export --to` may say.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
  case ndjson, csv, tsv, text

  /// The format that an output's name asks for; NDJSON where it does not say.
  ///
  /// - Throws: `usage` for an extension whose format is not written.
  init(outputPath path: String?) throws {
    let name = path.map(InputFile.name(of:)) ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex,
      let format = InputFormat(pathExtension: name[name.index(after: dot)...])
    else {
      self = .ndjson
      return
    }
    guard let known = ExportFormat(rawValue: format.rawValue) else {
      throw Failure.usage(
        "the format \(format.rawValue), which the output's name asks for, is not written by this version",
        hint: "choose another name, or a format with --to")
    }
    self = known
  }

  var isTable: Bool { self == .csv || self == .tsv }
}
