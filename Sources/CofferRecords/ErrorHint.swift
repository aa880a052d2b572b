/// The next step for the user after an error, in words. The calls in it can be named as a program offers them.
///
/// ```swift
/// StoreError(.rekeyUnfinished, "documents remain under old keys", hint: "finish it with \(.resumeRekey)")
/// ```
public struct ErrorHint: Hashable, Sendable, ExpressibleByStringInterpolation {
  /// A step that a hint names; the raw value is the library's call.
  public enum Action: String, Sendable, CaseIterable {
    case acceptRekey = "OriginalOptions.rekeyKnown"
    case addIndex = "index(_:_:)"
    case allowTestKeys = "OpenOptions.allowsTestKeys"
    case check = "DocumentStore.check(at:)"
    case collections = "collections()"
    case compact = "compact()"
    case create = "DocumentStore.create(at:keys:)"
    case dropSlots = "RekeyOptions.dropsOtherSlots"
    case info = "DocumentStore.info(at:)"
    case keepRecipient = "RekeyOptions.keptRecipients"
    case listKeys = "keys.list()"
    case makeKey = "KeyLine.generate"
    case mergeBase = "merge(_:base:)"
    case pin = "DocumentStore.pin"
    case resumeRekey = "RekeyOptions.isResuming"
    case testStore = "CreateOptions.isTest"
    case updateIndex = "updateIndexes()"
    case verify = "verify()"
  }

  fileprivate enum Part: Hashable, Sendable {
    case words(String)
    case action(Action)
  }

  fileprivate let parts: [Part]

  /// A hint without an action.
  public init(_ words: String) {
    parts = [.words(words)]
  }

  public init(stringLiteral words: String) {
    self.init(words)
  }

  public init(stringInterpolation: StringInterpolation) {
    parts = stringInterpolation.parts
  }

  /// The hint with each action under the name that `name` gives it.
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

    /// Adds a step, which a program may name in its own way.
    public mutating func appendInterpolation(_ action: Action) {
      parts.append(.action(action))
    }

    /// Adds the words and steps of another hint.
    public mutating func appendInterpolation(_ hint: ErrorHint) {
      parts += hint.parts
    }

    /// Adds a value's description.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      parts.append(.words(value.description))
    }
  }
}

extension ErrorHint: CustomStringConvertible {
  /// The hint with the names of the library's calls.
  public var description: String { text(naming: \.rawValue) }
}
