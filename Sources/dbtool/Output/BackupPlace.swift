internal import Coffer
internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform

/// The file that a backup goes to: as named, or in a folder, perhaps with the time in its name.
struct BackupPlace {
  let path: String
  /// The folder of copies with times in their names, and what their names begin with; nil without times.
  private let series: (folder: String, prefix: String)?

  private static let ending = ".coffer"
  /// The length of `20261122T081500Z`.
  private static let stampCount = 16

  /// - Throws: `failed` for a folder that does not exist, `usage` for a stamped copy that is in no folder.
  init(_ output: String, of store: String, isStamped: Bool) throws {
    let isFolder = InputFile.isDirectory(output)
    guard isFolder || !output.hasSuffix("/") else {
      throw Failure.failed("there is no folder \(output)", hint: "make it first")
    }
    let name = InputFile.name(of: store)
    guard isFolder else {
      guard !isStamped else {
        throw Failure.usage("--keep belongs to a folder of copies", hint: "name it with -o \(output)/")
      }
      (path, series) = (output, nil)
      return
    }
    let folder = output.hasSuffix("/") ? output : output + "/"
    guard isStamped else {
      (path, series) = (folder + name, nil)
      return
    }
    let base = name.hasSuffix(Self.ending) ? String(name.dropLast(Self.ending.count)) : name
    path = folder + base + "-" + Self.stamp(time(nil)) + Self.ending
    series = (folder, base + "-")
  }

  private static func stamp(_ moment: time_t) -> String {
    var moment = moment
    var parts = tm()
    gmtime_r(&moment, &parts)
    func digits(_ number: Int32, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1, 2) + digits(parts.tm_mday, 2) + "T"
      + digits(parts.tm_hour, 2) + digits(parts.tm_min, 2) + digits(parts.tm_sec, 2) + "Z"
  }

  /// Deletes the oldest copies of the same store, by the times in their names; other files are left alone.
  ///
  /// - Returns: the paths of the deleted copies.
  func removeOldest(keeping count: Int, _ diagnostics: Diagnostics) throws -> [String] {
    guard let (folder, prefix) = series else { return [] }
    let id = try DocumentStore.info(at: URL(filePath: path)).storeID
    // Names of one form sort by time.
    guard let all = FolderNames.of(folder) else { throw Failure.system(errno, folder) }
    let names = all.filter { Self.isStamped($0, prefix) }.sorted()
    let copies = names.filter { name in
      (try? DocumentStore.info(at: URL(filePath: folder + name)))?.storeID == id
    }
    var removed: [String] = []
    for name in copies.dropLast(count) where folder + name != path {
      guard unlink(folder + name) == 0 else {
        diagnostics.warning(Failure.system(errno, folder + name).message + ", so that it was kept")
        continue
      }
      removed.append(folder + name)
    }
    return removed
  }

  private static func isStamped(_ name: String, _ prefix: String) -> Bool {
    guard name.hasPrefix(prefix), name.hasSuffix(ending) else { return false }
    let stamp = Array(name.utf8.dropFirst(prefix.utf8.count).dropLast(ending.utf8.count))
    return stamp.count == stampCount
      && stamp.enumerated().allSatisfy { index, byte in
        switch index {
        case 8: byte == UInt8(ascii: "T")
        case 15: byte == UInt8(ascii: "Z")
        default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
      }
  }
}
