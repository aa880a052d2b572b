internal import CofferRecords
internal import CofferSQLite
public import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

extension DocumentStore {
  /// The default location of a store for this user: `$XDG_DATA_HOME` (`~/.local/share`), then `name`.
  ///
  /// Missing folders above it are created, for their owner alone; nothing is created at the location itself. A name
  /// without an extension gets `.coffer`.
  ///
  /// - Parameter name: may contain folders, so that an app has a separate one: `my-app/notes`.
  /// - Throws: `invalidArgument` for a name that leads out of the data home; `ioFailure`.
  public static func defaultLocation(named name: String) throws(StoreError) -> URL {
    try location(named: name, in: dataHome())
  }

  static func location(named name: String, in home: URL) throws(StoreError) -> URL {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." || $0.utf8.contains(0) }) else {
      throw StoreError(.invalidArgument, "the name of a store names no place outside of the data home")
    }
    var place = home
    for part in parts { place.append(path: String(part)) }
    if place.pathExtension.isEmpty { place.appendPathExtension("coffer") }
    do {
      try FileManager.default.createDirectory(
        at: place.deletingLastPathComponent(), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw StoreError(.ioFailure, "\(place.deletingLastPathComponent().path): the folder can't be made")
    }
    return place
  }

  /// The data home of the XDG Base Directory Specification, which ignores a path that is not absolute.
  private static func dataHome() throws(StoreError) -> URL {
    let variables = ProcessInfo.processInfo.environment
    if let path = variables["XDG_DATA_HOME"], path.hasPrefix("/") { return URL(filePath: path) }
    let home = variables["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? userHome()
    guard let home else { throw StoreError(.ioFailure, "this user has no home folder") }
    return URL(filePath: home).appending(path: ".local/share")
  }

  private static func userHome() -> String? {
    getpwuid(getuid()).flatMap { $0.pointee.pw_dir }.map { String(cString: $0) }
  }
}

extension DocumentStore {
  /// Stops SQLite from counting its memory, which costs a lock for the whole process at every allocation: with
  /// counting, two readers on two cores are slower than one.
  ///
  /// Call it first in a program, before any database is opened; don't call it in a program that reads SQLite's memory
  /// statistics.
  ///
  /// - Returns: false if SQLite was in use already; nothing has changed then.
  @discardableResult
  public static func disableMemoryStatistics() -> Bool {
    Database.disableMemoryStatistics()
  }
}
