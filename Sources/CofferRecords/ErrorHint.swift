/// A description of the user's next step after an error. A program can replace the calls in it with its own names.
///
/// ```swift
/// StoreError(.rekeyUnfinished, "documents remain under old keys", hint: "finish it with \(.resumeRekey)")
/// ```
public struct ErrorHint: Hashable, Sendable, ExpressibleByStringInterpolation {
  /// A step in a hint. The raw value is the library's call.
  public enum Action: String, Sendable, CaseIterable {
    case acceptRekey = "allowingRekey"
    case addIndex = "WriteTransaction.setIndexes(_:of:)"
    case allowTestKeys = "OpenOptions.allowsTestKeys"
    case check = "DocumentStore.check(at:)"
    case collections = "collections()"
    case compact = "compact()"
    case create = "DocumentStore.create(at:keys:)"
    case dropSlots = "RekeyOptions.dropsOtherSlots"
    case info = "DocumentStore.info(at:)"
    case keepRecipient = "RekeyOptions.keptRecipients"
    case listAttachments = "attachments(of:)"
    case listKeys = "keys.list()"
    case makeKey = "StoreKey.generate(at:)"
    case mergeBase = "merge(_:base:)"
    case otherKeys = "RekeyOptions.otherKeys"
    case pin = "DocumentStore.pin"
    case resume = "resume()"
    case resumeRekey = "RekeyOptions.isResuming"
    case salvage = "DocumentStore.salvage(at:key:to:)"
    case syncInit = "startSyncing(by:)"
    case syncJoin = "DocumentStore.join(_:at:key:)"
    case syncInvite = "makeInvitation(to:keys:)"
    case syncLeave = "stopSyncing()"
    case syncAgain = "exchange(with:acceptingEmptyFolder:)"
    case syncStatus = "syncStatus(of:)"
    case testStore = "CreateOptions.isTest"
    case updateIndex = "updateIndexes()"
    case verify = "verify()"
  }

  fileprivate enum Part: Hashable, Sendable {
    case words(String)
    case action(Action)
  }

  fileprivate let parts: [Part]

  /// Creates a hint without an action.
  public init(_ words: String) {
    parts = [.words(words)]
  }

  public init(stringLiteral words: String) {
    self.init(words)
  }

  public init(stringInterpolation: StringInterpolation) {
    parts = stringInterpolation.parts
  }

  /// Returns the hint with each action replaced with the name that `name` returns.
  public func text(naming name: (Action) -> String) -> String {
    parts.map { part in
      switch part {
      case .words(let words): words
      case .action(let action): name(action)
      }
    }.joined()
  }

  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var parts: [Part] = []

    public init(literalCapacity: Int, interpolationCount: Int) {}

    public mutating func appendLiteral(_ words: String) {
      parts.append(.words(words))
    }

    /// Appends a step, which a program can rename.
    public mutating func appendInterpolation(_ action: Action) {
      parts.append(.action(action))
    }

    /// Appends another hint's words and steps.
    public mutating func appendInterpolation(_ hint: ErrorHint) {
      parts += hint.parts
    }

    /// Appends a value's description.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      parts.append(.words(value.description))
    }
  }
}

extension ErrorHint: CustomStringConvertible {
  /// The hint with the library's calls.
  public var description: String { text(naming: \.rawValue) }
}
