public import CofferText

/// An error in reading or writing a file, and its place. Holds no text of a document.
///
/// Two errors are equal when their ``code`` is.
public struct FormatError: Error, Sendable {
  /// The kind of error, by what the caller can do about it.
  public enum Code: Hashable, Sendable {
    /// Bytes that are invalid in their encoding: choose another, or replace; see ``FormatError/suggestions``.
    case undecodable
    /// Not the grammar of the format, or a record unlike the others.
    case malformed
    /// A record longer than the limit.
    case tooLarge
    /// An empty text, if those are not allowed.
    case emptyText
    /// A requested column does not exist; see ``FormatError/names``.
    case missingColumn
    /// A requested table does not exist, or the choice is ambiguous; see ``FormatError/names``.
    case missingTable
    /// The format cannot be detected: it must be given.
    case undecidedFormat
    /// A format that is known by name only.
    case unsupportedFormat
    /// A character that the output's encoding lacks.
    case unencodable
    /// A file that cannot be opened or read.
    case unreadable
    /// A database that another program is writing.
    case locked
    /// A file that cannot be created or written.
    case unwritable
    /// The output exists already; it was not overwritten.
    case outputExists
  }

  /// The kind of error, which decides whether two errors are equal.
  public let code: Code
  /// The fault in words.
  public let reason: String
  /// Its place in the input, as far as known.
  public internal(set) var location: InputLocation?
  /// The input or output, as the caller named it.
  public internal(set) var path: String?
  /// The existing columns or members, after `missingColumn`; the tables, after `missingTable`.
  public internal(set) var names: [String] = []
  /// Encodings worth trying, after `undecodable`; the likeliest first.
  public internal(set) var suggestions: [TextEncoding] = []
  /// The next step, where one is known: a command or an option.
  public internal(set) var advice: String?
  /// The errno of a failed system call.
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
  /// From 0, in bytes of the file, the byte order mark included; nil if records have no byte range in the file, as in a
  /// database.
  public var byteOffset: Int?

  /// A place; nil for what is not known.
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
