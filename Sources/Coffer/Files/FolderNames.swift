#if canImport(Glibc)
  internal import Glibc
#endif

/// The names in a folder.
package enum FolderNames {
  /// All names in a folder, `.` and `..` too, in no order.
  ///
  /// - Returns: nil, with errno, for a folder that can't be read.
  package static func of(_ folder: String) -> [String]? {
    guard let stream = opendir(folder) else { return nil }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return names
  }
}
