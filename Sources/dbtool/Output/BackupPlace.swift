internal import Coffer
internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform

/// The file for a backup. In a folder, its name can contain the time.
struct BackupPlace {
  let path: String
  /// The series of this copy if its name contains the time, or otherwise `nil`.
  private let series: Series?

  /// - Throws: `failed` if the folder doesn't exist, or `usage` if a stamped copy doesn't go to a folder.
  init(_ output: String, of store: String, isStamped: Bool) throws {
    let isFolder = InputFile.isDirectory(output)
    guard isFolder || !output.hasSuffix("/") else {
      throw Failure.failed("there is no folder \(output)", hint: "make it first")
    }
    let name = InputFile.name(of: store)
    guard isFolder else {
      guard !isStamped else {
        throw Failure.usage(
          "--keep belongs to a folder of copies",
          hint: "name it with a slash at the end: \(Shell.quoted(path: output + "/"))")
      }
      (path, series) = (output, nil)
      return
    }
    let folder = output.hasSuffix("/") ? output : output + "/"
    guard isStamped else {
      (path, series) = (folder + name, nil)
      return
    }
    let series = Series(in: folder, of: name)
    (path, self.series) = (series.unusedPath(), series)
  }

  /// A Boolean value that indicates whether another process took the name, so the caller tries the next name.
  var wasTaken: Bool { series != nil && InputFile.exists(path) }

  /// Deletes the oldest copies of the same store, according to the times in their names, and no other files.
  ///
  /// A copy that is dated in the future causes a warning, because the clock was wrong when it was made, or is wrong now.
  /// It's kept, and doesn't count.
  ///
  /// - Returns: The paths of the deleted copies.
  func removeOldest(keeping count: Int, _ diagnostics: Diagnostics) throws -> [String] {
    guard let series else { return [] }
    let id = try DocumentStore.info(at: URL(filePath: path)).storeID
    let now = BackupStamp(time(nil))
    var earlier: [(stamp: BackupStamp, path: String)] = []
    for (stamp, copy) in try series.files() where copy != path {
      guard (try? DocumentStore.info(at: URL(filePath: copy)))?.storeID == id else { continue }
      if stamp.time > now.time {
        diagnostics.warning("\(copy) is dated in the future: it stays, and is not counted")
      } else {
        earlier.append((stamp, copy))
      }
    }
    var removed: [String] = []
    // The new copy also counts.
    for (_, copy) in earlier.sorted(by: { $0.stamp < $1.stamp }).dropLast(count - 1) {
      guard unlink(copy) == 0 else {
        // Another backup may have already deleted it.
        if errno != ENOENT {
          diagnostics.warning(Failure.system(errno, copy).message + ", so that it was kept")
        }
        continue
      }
      removed.append(copy)
    }
    return removed
  }
}

/// The copies of one store in a folder, such as `NAME-20261122T081500Z.coffer`. The second copy of the same second is
/// `NAME-20261122T081500Z-2.coffer`.
private struct Series {
  private static let ending = ".coffer"

  private let folder: String
  /// The beginning of the names.
  private let prefix: String

  init(in folder: String, of store: String) {
    self.folder = folder
    prefix = (store.hasSuffix(Self.ending) ? String(store.dropLast(Self.ending.count)) : store) + "-"
  }

  /// Returns the path for a new copy.
  func unusedPath() -> String {
    var stamp = BackupStamp(time(nil))
    // Choose a higher number than other copies of the same second, because this copy would otherwise seem older.
    for (other, _) in (try? files()) ?? [] where other.time == stamp.time {
      stamp.number = max(stamp.number, other.number + 1)
    }
    while InputFile.exists(path(stamp)) { stamp.number += 1 }
    return path(stamp)
  }

  private func path(_ stamp: BackupStamp) -> String { folder + prefix + stamp.description + Self.ending }

  /// Returns the regular files with such names, in any order. Links don't count.
  func files() throws -> [(BackupStamp, path: String)] {
    guard let names = FolderNames.of(folder) else { throw Failure.system(errno, folder) }
    return names.compactMap { name in
      guard name.hasPrefix(prefix), name.hasSuffix(Self.ending),
        let stamp = BackupStamp(name.dropFirst(prefix.count).dropLast(Self.ending.count))
      else { return nil }
      var status = stat()
      guard lstat(folder + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      return (stamp, folder + name)
    }
  }
}

/// The time of a copy in UTC, `20261122T081500Z`, and its number among the copies of that second, `-2` and so on.
private struct BackupStamp: Comparable, CustomStringConvertible {
  let time: time_t
  var number = 1

  init(_ time: time_t) {
    self.time = time
  }

  /// Returns `nil` unless the text is the description of an existing date.
  init?(_ text: Substring) {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    let bytes = Array(parts[0].utf8)
    guard bytes.count == 16 else { return nil }
    func field(_ range: Range<Int>) -> Int32 { Int32(String(decoding: bytes[range], as: UTF8.self)) ?? -1 }
    var date = tm()
    (date.tm_year, date.tm_mon, date.tm_mday) = (field(0..<4) - 1900, field(4..<6) - 1, field(6..<8))
    (date.tm_hour, date.tm_min, date.tm_sec) = (field(9..<11), field(11..<13), field(13..<15))
    time = timegm(&date)
    if parts.count > 1 { number = Int(parts[1]) ?? 0 }
    // Nobody makes more copies in a second, and the next number must not overflow.
    guard (1...999_999).contains(number), description == text else { return nil }
  }

  static func < (one: BackupStamp, other: BackupStamp) -> Bool {
    (one.time, one.number) < (other.time, other.number)
  }

  var description: String {
    var moment = time
    var parts = tm()
    gmtime_r(&moment, &parts)
    func digits(_ number: Int32, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1, 2) + digits(parts.tm_mday, 2) + "T"
      + digits(parts.tm_hour, 2) + digits(parts.tm_min, 2) + digits(parts.tm_sec, 2) + "Z"
      + (number == 1 ? "" : "-\(number)")
  }
}
