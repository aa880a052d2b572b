internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferText

/// Options for reading inputs.
struct ReadingChoices: ParsableArguments {
  enum Header: String, CaseIterable, ExpressibleByArgument {
    case auto, yes, no

    var mode: HeaderMode {
      switch self {
      case .auto: .automatic
      case .yes: .yes
      case .no: .no
      }
    }
  }

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

  enum Empty: String, CaseIterable, ExpressibleByArgument {
    case store, skip, fail

    var mode: Document.EmptyText {
      switch self {
      case .store: .store
      case .skip: .skip
      case .fail: .fail
      }
    }
  }

  @Option(
    help: ArgumentHelp("The format of the inputs; auto looks at their content, then their names.", valueName: "format"))
  var from: ImportFormat = .auto

  @Option(help: ArgumentHelp("Their encoding; auto: the byte order mark's, else UTF-8.", valueName: "encoding"))
  var encoding = EncodingName(choice: .automatic)

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The table of a SQLite database (default: the one of documents).", valueName: "name"))
  var table: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      The columns or members of each part: id=COL,title=COL,text=COL,key=COL,created=COL,modified=COL,collection=COL, by \
      name or number from 1; dates=unix, unix-ms, unix-us, chrome or apple for dates that are numbers.
      """,
      valueName: "parts"))
  var map: String?

  @Option(help: ArgumentHelp("Whether a table's first row names its columns.", valueName: "mode"))
  var header: Header = .auto

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The separator of fields in csv and tsv: a character, or 'tab' (default: a comma, unless the file says other).",
      valueName: "char"))
  var delimiter: FieldDelimiter?

  @Flag(help: "Documents keep the ids that the input gives them.")
  var keepIds = false

  @Option(help: ArgumentHelp("The action for a record that cannot be read (default: fail).", valueName: "mode"))
  var onError: OnError?

  @Option(
    help: ArgumentHelp(
      "The longest record that is read, such as 64M or 1G (default: 128M; a text as a whole: 256M, a property list: 1G).",
      valueName: "size")
  )
  var maxRecord: ByteSize?

  @Option(
    help: ArgumentHelp("The action for a document without text (default: store; lines: skip).", valueName: "mode"))
  var empty: Empty?

  @Flag(help: "A database's rows become values by their columns' declared types: booleans, dates, UUIDs, data.")
  var values = false

  @Flag(help: "Reads the files of a folder, but not those of the folders in it.")
  var noRecurse = false

  @Flag(help: "Follows symbolic links in a folder.")
  var followLinks = false

  @Flag(help: "The key of a text is its file's path in the folder that is read (with --sync always).")
  var pathKeys = false

  @Flag(help: "Attributes at the beginning of a text, between two lines ---: YAML's scalars and lists of them.")
  var frontMatter = false

  func validate() throws {
    if let map, ColumnMapping(parsing: map) == nil {
      throw ValidationError(
        """
        --map takes id=COL,title=COL,text=COL,key=COL,created=COL,modified=COL,collection=COL,dates=UNIT, each at most \
        once; UNIT is unix, unix-ms, unix-us, chrome or apple
        """)
    }
    if delimiter != nil, ![.auto, .csv, .tsv].contains(from) {
      throw ValidationError("--delimiter is for csv and tsv, not for \(from.rawValue)")
    }
  }

  /// - Parameter isRejecting: rejected records go to a file, so that they are skipped by default.
  func skipsErrors(isRejecting: Bool) -> Bool {
    (onError ?? (isRejecting ? .skip : .fail)) == .skip
  }

  /// Opens one input with these options.
  func open(
    _ path: String, count: CountingSource.Count, isRejecting: Bool, isSync: Bool, namesCollections: Bool,
    onRejection: @escaping @Sendable (Rejection) -> Void
  ) throws -> InputSource {
    let isStream = path == InputFile.standardInput
    var options = ReadingOptions(
      encoding: encoding.choice, onError: skipsErrors(isRejecting: isRejecting) ? .skip : (onError ?? .fail).mode,
      emptyText: empty?.mode, keepsIDs: keepIds,
      path: isStream ? "standard input" : path, onRejection: onRejection)
    options.maximumRecordByteCount = maxRecord?.bytes
    options.shouldStop = { Interrupt.isRequested }
    options.namesCollections = namesCollections
    options.walksFolders = !noRecurse
    options.followsLinks = followLinks
    options.givesPathKeys = pathKeys || isSync
    options.readsFrontMatter = frontMatter
    options.readsValues = values
    let format = from.format ?? (delimiter == nil ? nil : .csv)
    let mapping = map.flatMap { ColumnMapping(parsing: $0) } ?? ColumnMapping()
    if !isStream, InputFile.isDirectory(path) {
      return try InputSource(opening: path, format: format, mapping: mapping, options: options)
    }
    let bytes = isStream ? FileByteSource(descriptor: 0) : try FileByteSource(path: path)
    return try InputSource(
      CountingSource(bytes, count: count, waitingFor: isStream ? 0 : nil),
      name: isStream ? nil : InputFile.name(of: path), file: isStream ? nil : path,
      modified: isStream ? nil : bytes.modified,
      sizeHint: isStream ? nil : InputFile.size(of: path), format: format, table: table, mapping: mapping,
      header: header.mode, delimiter: delimiter?.byte, options: options)
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
  /// Nil for automatic detection.
  var format: InputFormat? { InputFormat(rawValue: rawValue) }
}

/// The delimiter of `--delimiter`: one ASCII character, `tab` or `\t`.
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
