internal import CofferEngine
public import CofferFoundation
internal import CofferPlatform
internal import CofferRecords
internal import CofferSQLite

extension DocumentStore {
  /// Returns the default location of a store for this user, which is `name` in `$XDG_DATA_HOME` (`~/.local/share`, or
  /// `~/Library/Application Support` on Apple's systems).
  ///
  /// Creates missing parent folders with access only for their owner, without creating the store itself. Appends
  /// `.coffer` to a name without an extension.
  ///
  /// - Parameter name: The name, which can contain folders, such as `my-app/notes` for an app's own folder.
  /// - Throws: `invalidArgument` for a name outside the data home, or `ioFailure`.
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

  /// Returns the data home of the XDG Base Directory Specification, which ignores relative paths.
  private static func dataHome() throws(StoreError) -> URL {
    let variables = ProcessInfo.processInfo.environment
    if let path = variables["XDG_DATA_HOME"], path.hasPrefix("/") { return URL(filePath: path) }
    let home = variables["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? userHome()
    guard let home else { throw StoreError(.ioFailure, "this user has no home folder") }
    return URL(filePath: home).appending(path: UserFolders.data)
  }

  private static func userHome() -> String? {
    getpwuid(getuid()).flatMap { $0.pointee.pw_dir }.map { String(cString: $0) }
  }
}

extension DocumentStore {
  /// Stops SQLite from counting its memory.
  ///
  /// Counting costs a process-wide lock at every allocation, so two readers on two cores are slower than one reader.
  /// Call this method before the program opens any database. Don't call it in a program that reads SQLite's memory
  /// statistics.
  ///
  /// - Returns: `false` if SQLite was already in use, so its settings are unchanged.
  @discardableResult
  public static func disableMemoryStatistics() -> Bool {
    Database.disableMemoryStatistics()
  }
}
