package enum FolderNames {
  /// Returns all names in a folder, including `.` and `..`, in arbitrary order.
  ///
  /// - Returns: `nil`, with errno, if the folder can't be read.
  package static func of(_ folder: String) -> [String]? {
    read(open(folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)) { String(cString: $0) }
  }

  /// Reads the names in a folder, and closes its descriptor.
  static func read<Name>(_ folder: Int32, _ convert: (UnsafePointer<CChar>) -> Name) -> [Name]? {
    guard folder >= 0 else { return nil }
    guard let stream = fdopendir(folder) else {
      close(folder)
      return nil
    }
    defer { closedir(stream) }
    var names: [Name] = []
    while let entry = readdir(stream) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { convert($0) }
        })
    }
    return names
  }
}
