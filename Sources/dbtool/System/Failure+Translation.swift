internal import Coffer
internal import CofferEngine
internal import CofferFormats
internal import CofferSealing
internal import CofferTerminal
internal import CofferText

extension Failure {
  /// Translates any error of the modules below.
  init(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as StoreError: self.init(error)
    case let error as SealingError: self.init(error)
    case let error as FormatError: self.init(error)
    case let error as TextCodingError: self.init(error, in: "the input") { "--encoding \($0.rawValue)" }
    case let error as TerminalError: self.init(error)
    case is ClosedPipe: self = .failed("standard output was closed")
    default: self = .failed("\(error)")
    }
  }

  init(_ error: StoreError) {
    let hint =
      error.code == .removalRefused
      ? "look at the input; --max-delete allows more, such as --max-delete 100" : error.advice?.text(naming: \.verb)
    self.init(error.code.status, kind: Self.kind(error.code.rawValue), error.message, hint: hint)
  }

  init(_ error: TerminalError) {
    switch error {
    case .failed(let number): self = .system(number, "the terminal")
    case .closed: self = .interrupted
    }
  }

  init(_ error: SealingError) {
    let status: ExitStatus = error.code == .parametersRefused ? .damaged : .failed
    self.init(status, kind: Self.kind(error.code.rawValue), error.message)
  }

  init(_ error: FormatError) {
    let hint: String? =
      switch error.code {
      case _ where error.advice != nil: error.advice
      case .missingColumn where !error.names.isEmpty: "there are: \(listed(error.names))"
      case .missingTable where !error.names.isEmpty: "name it with --table; there are: \(listed(error.names))"
      case .undecodable: Self.hint(for: error.suggestions, after: error.reason) { "--encoding \($0.rawValue)" }
      case .undecidedFormat, .unsupportedFormat: "say what it is with --from \(ImportFormat.names)"
      default: nil
      }
    self.init(error.code.status, kind: Self.kind("\(error.code)"), error.description, hint: hint)
  }

  /// - Parameter choice: The option that chooses an encoding, or a command if the verb doesn't have this option.
  init(_ error: TextCodingError, in name: String, choice: (TextEncoding) -> String) {
    let status: ExitStatus = error.code == .unencodableCharacter ? .failed : .undecodable
    self.init(
      status, kind: Self.kind("\(error.code)"), "\(name): \(error)",
      hint: error.lookalike?.advice ?? Self.hint(for: error.suggestions, after: error.reason, choice: choice))
  }

  /// Translates a decoding error, and checks if the first bytes show that the input isn't text.
  init(_ error: TextCodingError, in name: String, head: [UInt8], choice: (TextEncoding) -> String) {
    guard error.code != .unencodableCharacter, let foreign = ForeignContent(head: head) else {
      self.init(error, in: name, choice: choice)
      return
    }
    self.init(
      .undecodable, kind: Self.kind("\(error.code)"), "\(name): this is \(foreign.name), not text", hint: foreign.advice
    )
  }

  private static func hint(
    for suggestions: [TextEncoding], after reason: String, choice: (TextEncoding) -> String
  ) -> String? {
    guard let first = suggestions.first else { return nil }
    let choices = suggestions.map(choice).joined(separator: " or ")
    guard suggestions.count == 1 else { return "try " + choices }
    return switch first {
    case .utf16LittleEndian: "looks like UTF-16, little end first: \(choices)"
    case .utf16BigEndian: "looks like UTF-16, big end first: \(choices)"
    case .utf8 where reason.hasPrefix("U+0000"): "this is UTF-8 with U+0000 in it: \(choices)"
    case .utf8 where reason.hasPrefix("no byte order mark"): "this is UTF-8: \(choices)"
    case .utf8: "this is UTF-8 with invalid bytes in it: \(choices) --on-error replace"
    default: "try \(choices)"
    }
  }

  /// Converts a code such as `noSuchDocument` to `no-such-document`.
  private static func kind(_ camelCase: String) -> String {
    camelCase.reduce(into: "") { kind, letter in
      kind += letter.isUppercase ? "-" + letter.lowercased() : String(letter)
    }
  }
}

extension ErrorHint.Action {
  /// The verb or option of this program.
  var verb: String {
    switch self {
    case .acceptRekey: "--allow-rekey"
    case .addIndex: "index add"
    case .allowTestKeys: "DBTOOL_ALLOW_TEST_KEYS=1"
    case .check: "verify --keyless"
    case .collections: "collection list"
    case .compact: "compact"
    case .create: "create"
    case .dropSlots: "rekey --drop-slots"
    case .info: "info"
    case .keepRecipient: "--keep-recipient SLOT"
    case .listAttachments: "attachment ls"
    case .listKeys: "key list"
    case .makeKey: "keygen"
    case .mergeBase: "--base"
    case .otherKeys: "--key-file or --passphrase"
    case .pin, .verify: "verify"
    case .salvage: "copy --salvage"
    case .syncInit: "dbtool sync init"
    case .syncJoin: "dbtool sync join"
    case .syncInvite: "dbtool sync invite"
    case .syncLeave: "dbtool sync leave"
    case .syncAgain: "dbtool sync run --empty"
    case .syncStatus: "dbtool sync status"
    case .testStore: "--test"
    case .updateIndex: "index update"
    case .resume: "resume()"
    case .resumeRekey: "rekey --resume"
    }
  }
}

extension StoreError.Code {
  /// The exit code (Commands, "Exit codes").
  var status: ExitStatus {
    switch self {
    case .noSuchFile, .notAStore: .noStore
    case .locked: .locked
    case .cannotUnlock, .keyChanged: .cannotUnlock
    case .keyNeeded: .keyNeeded
    case .noSuchDocument, .noSuchCollection, .noSuchAttachment, .noIndex: .noDocument
    case .otherFormat: .otherFormat
    case .testKeyRefused: .testKeyRefused
    case .damaged, .unsafeFile, .parametersRefused: .damaged
    case .rolledBack, .setMismatch, .anchorMismatch, .notAsReleased, .pinMismatch, .pinUnfinished: .mismatch
    case .rekeyUnfinished: .rekeyUnfinished
    case .notConfirmed: .notConfirmed
    case .invalidArgument, .indexOutOfRange: .usage
    case .notDecodable, .notText: .undecodable
    case .cancelled: .interrupted
    case .alreadyExists, .noUnfinishedRekey, .indexBehind, .noNumberLeft, .duplicateKey, .removalRefused, .readOnly,
      .diskFull,
      .queryFailed, .tooLarge,
      .emptyText,
      .keyFileInvalid, .migrationFailed, .misuse, .ioFailure, .systemFailure, .notEncodable, .closed, .suspended:
      .failed
    }
  }
}

extension FormatError.Code {
  var status: ExitStatus {
    switch self {
    case .undecodable, .malformed, .emptyText, .tooLarge: .undecodable
    case .missingColumn, .missingTable, .undecidedFormat, .unsupportedFormat: .usage
    case .unreadable: .failed
    case .locked: .locked
    case .unencodable, .unwritable, .outputExists: .failed
    }
  }
}
