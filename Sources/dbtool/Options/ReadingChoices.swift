internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferText

/// Rarely needed options for reading inputs.
struct MoreReadingChoices: ParsableArguments {
  enum OnError: String, CaseIterable, ExpressibleByArgument {
    case fail, skip, replace

    var mode: RecordErrorMode {
      switch self {
      case .fail: .fail
      case .skip: .skip
      case .replace: .replace
      }
    }
  }

  @Flag(help: "Keep the document ids from the input.")
  var keepIds = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The table of a SQLite database (default: the table of documents).", valueName: "name"))
  var table: String?

  @Flag(help: "Read attributes between two --- lines at the beginning of a text, as YAML scalars and lists of scalars.")
  var frontMatter = false

  @Option(
    help: ArgumentHelp(
      "The folder of 'export --attachments', with the attachment contents that ndjson and json list.",
      valueName: "dir"),
    completion: .directory)
  var attachments: String?

  @Flag(
    help: "Import plist and keyed-archive data and sqlite blobs as attachments instead of base64.")
  var blobs = false

  @Flag(help: "Skip documents without text.")
  var skipEmpty = false

  @Option(help: ArgumentHelp("The action for an unreadable record (default: fail).", valueName: "mode"))
  var onError: OnError?

  @Option(
    help: ArgumentHelp(
      "The longest record to read, such as 64M or 1G (default: 128M; a text as a whole: 256M, a property list: 1G).",
      valueName: "size", visibility: .hidden)
  )
  var maxRecord: ByteSize?

  @Flag(
    help: ArgumentHelp(
      "Import database rows as values by declared column type: booleans, dates, UUIDs, data.",
      visibility: .hidden))
  var values = false
}

/// Options for reading inputs.
struct ReadingChoices: ParsableArguments {
  @Option(
    help: ArgumentHelp("The format of the inputs (default: from content, then names).", valueName: "format"))
  var from: ImportFormat = .auto

  @Option(help: ArgumentHelp("Their encoding (default: from the byte order mark, else utf-8).", valueName: "encoding"))
  var encoding = EncodingName(choice: .automatic)

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      The columns or members to use: id, title, text, key, created, modified, collection=COLUMN, by name or number \
      from 1. Also dates=unix, unix-ms, unix-us, chrome or apple; header=no; delimiter=CHAR. @FILE reads the parts \
      from a file.
      """,
      valueName: "parts"))
  var map = InputMap()

  @OptionGroup(title: "More") var more: MoreReadingChoices

  func validate() throws {
    if map.delimiter != nil, ![.auto, .csv, .tsv].contains(from) {
      throw ValidationError("delimiter= is for csv and tsv, not for \(from.rawValue)")
    }
    if more.blobs, ![.auto, .plist, .keyedArchive, .sqlite].contains(from) {
      throw ValidationError("--blobs is for plist, keyed-archive and sqlite, not for \(from.rawValue)")
    }
    if more.attachments != nil, ![.auto, .ndjson, .json].contains(from) {
      throw ValidationError("--attachments is for ndjson and json, not for \(from.rawValue)")
    }
  }

  /// - Parameter isRejecting: Whether rejected records go to a file, and are skipped by default.
  func skipsErrors(isRejecting: Bool) -> Bool {
    (more.onError ?? (isRejecting ? .skip : .fail)) == .skip
  }

  /// Opens one input with these options.
  func open(
    _ path: String, count: CountingSource.Count, isRejecting: Bool, isSync: Bool, isUpdate: Bool,
    namesCollections: Bool, onRejection: @escaping @Sendable (Rejection) -> Void
  ) throws -> InputSource {
    let isStream = path == InputFile.standardInput
    var options = ReadingOptions(
      encoding: encoding.choice, onError: skipsErrors(isRejecting: isRejecting) ? .skip : (more.onError ?? .fail).mode,
      emptyText: more.skipEmpty ? .skip : nil, keepsIDs: more.keepIds,
      path: InputFile.described(path), onRejection: onRejection)
    options.maximumRecordByteCount = more.maxRecord?.bytes
    options.shouldStop = { Interrupt.isRequested }
    options.namesCollections = namesCollections
    options.valuesNameCollections = isUpdate
    // Use paths as keys, because later imports find the files of a folder by path.
    options.givesPathKeys = isSync || !isStream && InputFile.isDirectory(path)
    options.readsFrontMatter = more.frontMatter
    options.readsValues = more.values
    options.attachesData = more.blobs
    options.attachments = try more.attachments.map { try AttachmentFiles(path: $0) }
    let format = from.format ?? (map.delimiter == nil ? nil : .csv)
    var mapping = map.columns
    // With one collection for all records, import the column as an attribute to keep its values.
    if !namesCollections { mapping.columns[.collection] = nil }
    if !isStream, InputFile.isDirectory(path) {
      try requireUse(by: .text, of: path)
      return try InputSource(opening: path, format: format, mapping: mapping, options: options)
    }
    if !isStream { try InputSource.requireClosed(path) }
    let isPipe = !isStream && InputFile.isStream(path)
    let bytes =
      if isStream {
        FileByteSource(descriptor: 0)
      } else if isPipe {
        try FileByteSource(stream: path)
      } else {
        try FileByteSource(path: path)
      }
    let source = try InputSource(
      CountingSource(bytes, count: count, waitingFor: isStream || isPipe ? bytes.descriptor : nil),
      name: isStream ? nil : InputFile.name(of: path), file: isStream ? nil : path,
      modified: isStream ? nil : bytes.modified,
      sizeHint: isStream ? nil : InputFile.size(of: path), format: format, table: more.table, mapping: mapping,
      header: map.header, delimiter: map.delimiter?.byte, options: options)
    try requireUse(by: source.format, of: InputFile.described(path))
    return source
  }

  /// Refuses options that don't apply to an input's format.
  private func requireUse(by format: InputFormat, of name: String) throws {
    let isTable = [.csv, .tsv].contains(format)
    let read = "\(name) is read as \(format.rawValue)"
    if map.header != .automatic, !isTable {
      throw Failure.usage("header= is for csv and tsv: \(read)", hint: "--from csv reads it as a table")
    }
    if map.columns != ColumnMapping(), [.text, .lines].contains(format) {
      throw Failure.usage(
        "--map is for records with columns or members: \(read)", hint: "--from csv reads it as a table")
    }
    if more.table != nil, format != .sqlite {
      throw Failure.usage("--table is for SQLite databases: \(read)")
    }
    if more.attachments != nil, ![.ndjson, .json].contains(format) {
      throw Failure.usage(
        "--attachments is for ndjson and json: \(read)", hint: "leave --attachments out for this input")
    }
  }
}

/// The formats of `--from`.
enum ImportFormat: String, CaseIterable, ExpressibleByArgument {
  case auto, text, lines, csv, tsv, json, ndjson, plist
  case keyedArchive = "keyed-archive"
  case sqlite

  static var names: String { allCases.dropFirst().map(\.rawValue).joined(separator: "|") }
}

extension ImportFormat {
  /// The format, or `nil` for automatic detection.
  var format: InputFormat? { InputFormat(rawValue: rawValue) }
}

/// The parts of `--map`.
struct InputMap: ExpressibleByArgument {
  var columns = ColumnMapping()
  var header = HeaderMode.automatic
  var delimiter: FieldDelimiter?

  init() {}

  /// Parses the parts. A file can contain one part per line.
  init?(argument: String) {
    guard argument.hasPrefix("@") else {
      self.init(parts: argument)
      return
    }
    guard let bytes = try? InputFile.contents(of: String(argument.dropFirst()), limit: 1 << 20),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") }
    self.init(parts: lines.joined(separator: ","))
  }

  private init?(parts: String) {
    var others: [Substring] = []
    var items = parts.split(separator: ",", omittingEmptySubsequences: false)[...]
    while let item = items.popFirst() {
      if item == "header=no" || item == "header=yes" {
        header = item == "header=no" ? .no : .yes
      } else if item.hasPrefix("delimiter=") {
        // A comma also separates the parts.
        let isComma = item == "delimiter=" && items.first?.isEmpty == true
        if isComma { items.removeFirst() }
        guard let found = FieldDelimiter(argument: isComma ? "," : String(item.dropFirst(10))) else { return nil }
        delimiter = found
      } else {
        others.append(item)
      }
    }
    guard !others.isEmpty else { return }
    guard let columns = ColumnMapping(parsing: others.joined(separator: ",")) else { return nil }
    self.columns = columns
  }

  var defaultValueDescription: String { "" }
}

/// The delimiter of a table: one ASCII character, `tab` or `\t`.
struct FieldDelimiter: ExpressibleByArgument {
  let byte: UInt8

  init?(argument: String) {
    let text = ["tab", "\\t"].contains(argument) ? "\t" : argument
    guard text.utf8.count == 1, let byte = text.utf8.first, DelimitedDialect.isDelimiter(byte) else { return nil }
    self.byte = byte
  }
}

/// A number of bytes, from 1: `1048576`, `1024K`, `1M`, `1G`; units are powers of 1024.
struct ByteSize: ExpressibleByArgument {
  let bytes: Int

  init?(argument: String) {
    let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
    let unit = argument.last.flatMap { units[Character($0.uppercased())] }
    let digits = unit == nil ? argument[...] : argument.dropLast()
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits), number > 0,
      // The longest useful record: a text of 256 MiB in which every character is escaped.
      number <= (16 << 30) / (unit ?? 1)
    else { return nil }
    bytes = number * (unit ?? 1)
  }
}
