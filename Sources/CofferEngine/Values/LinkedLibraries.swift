internal import CofferSQLite
internal import CofferSealing

/// The libraries that the system links, in words for users.
package enum LinkedLibraries {
  /// The names and versions, such as `SQLite 3.40.1, OpenSSL 3.0.19`.
  package static var versions: String { "SQLite \(Database.libraryVersion), \(CryptographicLibrary.nameAndVersion)" }
}
