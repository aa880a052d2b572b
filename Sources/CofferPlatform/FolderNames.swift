package enum FolderNames {
  /// Returns all names in a folder, including `.` and `..`, in arbitrary order.
  ///
  /// - Returns: `nil`, with errno, if the folder can't be read.
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
