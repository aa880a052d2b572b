public import CofferText

/// An error from reading or writing a file, with its location. It doesn't contain document text.
///
/// Errors are equal if their codes are equal.
public struct FormatError: Error, Sendable {
  /// The kind of error, which determines how the caller can respond.
  public enum Code: Hashable, Sendable {
    /// Bytes are invalid in their encoding. Choose another encoding (``FormatError/suggestions``), or replace the
    /// bytes.
    case undecodable
    /// The input doesn't match the format's grammar, or a record is invalid or doesn't match the other records.
    case malformed
    /// A record exceeds the limit.
    case tooLarge
    /// A text is empty, but empty texts aren't allowed.
    case emptyText
    /// A requested column doesn't exist (``FormatError/names``).
    case missingColumn
    /// A requested table doesn't exist, or the database doesn't have exactly one suitable table
    /// (``FormatError/names``).
    case missingTable
    /// The format can't be detected and must be specified.
    case undecidedFormat
    /// The input can't be read in this format, because it's a directory or an encrypted store.
    case unsupportedFormat
    /// The output can't represent a value, such as a character that its encoding lacks.
    case unencodable
    /// A file can't be opened or read, or ``ReadingOptions/shouldStop`` stopped reading.
    case unreadable
    /// Another program is writing the database, or this process has it open.
    case locked
    /// A file can't be created or written.
    case unwritable
    /// The output already exists, and wasn't overwritten.
    case outputExists
  }

  /// The kind of error, which determines whether two errors are equal.
  public let code: Code
  /// A description of the error.
  public let reason: String
  /// The error's location in the input, or `nil` if it's unknown.
  public internal(set) var location: InputLocation?
  /// The input or output, as named by the caller.
  public internal(set) var path: String?
  /// The existing columns or members after `missingColumn`, or the tables after `missingTable`.
  public internal(set) var names: [String] = []
  /// The encodings to try after `undecodable`, with the likeliest encoding first.
  public internal(set) var suggestions: [TextEncoding] = []
  /// The next step for the user, such as a command or an option, or `nil` if it's unknown.
  public internal(set) var advice: String?
  /// The `errno` value of a failed system call.
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

/// A location in an input. The line and column are `nil` if the input doesn't have lines, such as a binary property
/// list.
public struct InputLocation: Hashable, Sendable {
  /// The record's number, from 1. A header row isn't a record.
  public var record: Int?
  /// The line's number, from 1. Lines end at LF.
  public var line: Int?
  /// The column's number in Unicode scalars, from 1.
  public var column: Int?
  /// The byte offset in the file, from 0, including the byte order mark. `nil` if records don't have a byte range in
  /// the file, as in a database.
  public var byteOffset: Int?

  /// Creates a location. Pass `nil` for unknown values.
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
