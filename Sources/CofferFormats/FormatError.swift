public import CofferText

/// Why a file could not be read or written, and where. Holds no text of a document.
///
/// Two errors are equal when their ``code`` is.
public struct FormatError: Error, Sendable {
  /// What the caller can do about it.
  public enum Code: Hashable, Sendable {
    /// Bytes that are no text in their encoding: choose another, or replace; see ``FormatError/suggestions``.
    case undecodable
    /// Not the grammar of the format, or a record unlike the others.
    case malformed
    /// A record longer than the limit.
    case tooLarge
    /// A text of no bytes, where those are not allowed.
    case emptyText
    /// A column that was asked for is not there; see ``FormatError/names``.
    case missingColumn
    /// A table that was asked for is not there, or several may be meant; see ``FormatError/names``.
    case missingTable
    /// The content does not say what it is: a format must be given.
    case undecidedFormat
    /// A format that is known by name only.
    case unsupportedFormat
    /// A character that the output's encoding does not have.
    case unencodable
    /// A file that cannot be opened or read.
    case unreadable
    /// A database that another program is writing.
    case locked
    /// A file that cannot be made or written.
    case unwritable
    /// A file that is in the way; nothing was overwritten.
    case outputExists
  }

  public let code: Code
  /// What is wrong, in words.
  public let reason: String
  /// Where in the input it is, as far as that is known.
  public internal(set) var location: InputLocation?
  /// The input or output, as the caller named it.
  public internal(set) var path: String?
  /// The columns or members that there are, after `missingColumn`; the tables, after `missingTable`.
  public internal(set) var names: [String] = []
  /// Encodings worth trying, after `undecodable`; the likeliest first.
  public internal(set) var suggestions: [TextEncoding] = []
  /// The system's number for what went wrong (errno).
  public internal(set) var systemError: Int32?

  init(_ code: Code, _ reason: String, at location: InputLocation? = nil, path: String? = nil) {
    self.code = code
    self.reason = reason
    self.location = location
    self.path = path
  }
}

extension FormatError: Equatable {
  public static func == (lhs: FormatError, rhs: FormatError) -> Bool {
    lhs.code == rhs.code
  }
}

extension FormatError: CustomStringConvertible {
  public var description: String {
    var text = reason
    if let location { text += " (\(location))" }
    if let path { text = "\(path): \(text)" }
    return text
  }
}

/// A place in an input. Lines and columns are nil for an input that has none, such as a binary property list.
public struct InputLocation: Hashable, Sendable {
  /// The record's number, from 1; a header row is no record.
  public var record: Int?
  /// From 1; lines end at LF.
  public var line: Int?
  /// From 1, in Unicode scalars.
  public var column: Int?
  /// From 0, in bytes of the file as it is, its byte order mark included; nil where records are no bytes of their own,
  /// as in a database.
  public var byteOffset: Int?

  public init(record: Int? = nil, line: Int?, column: Int?, byteOffset: Int?) {
    self.record = record
    self.line = line
    self.column = column
    self.byteOffset = byteOffset
  }
}

extension InputLocation: CustomStringConvertible {
  public var description: String {
    let parts = [
      record.map { "record \($0)" }, line.map { "line \($0)" }, column.map { "column \($0)" },
      byteOffset.map { "byte \($0)" },
    ]
    return parts.compactMap { $0 }.joined(separator: ", ")
  }
}
