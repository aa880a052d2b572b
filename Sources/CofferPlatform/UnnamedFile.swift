/// Files without names, which disappear if the process is killed (`O_TMPFILE`, open(2)).
package enum UnnamedFile {
  /// Opens an empty file for reading and writing that only its owner can read.
  ///
  /// - Returns: `nil` if the system or the file system doesn't support such files, or can't give them a name later.
  package static func open(in folder: String) -> Int32? {
    let descriptor = coffer_open_unnamed(folder.isEmpty ? "." : folder)
    guard descriptor >= 0 else { return nil }
    guard access(path(of: descriptor), F_OK) == 0 else {
      close(descriptor)
      return nil
    }
    return descriptor
  }

  /// Opens an empty file without a name that only its owner can read. If the file system doesn't support that, the file
  /// has a random name until it's open.
  ///
  /// - Returns: -1, with errno, if the file can't be created.
  package static func openScratch(in folder: String) -> Int32 {
    if let unnamed = open(in: folder) { return unnamed }
    for _ in 0..<16 {
      let path = "\(folder)/\(TemporaryName.privateCopy())"
      let named = CofferPlatform.open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
      if named >= 0 {
        unlink(path)
        return named
      }
      guard errno == EEXIST else { break }
    }
    return -1
  }

  /// Gives the file a name without replacing another file.
  ///
  /// - Returns: `false`, with errno, if the name is taken or can't be assigned.
  package static func link(_ descriptor: Int32, as name: String) -> Bool {
    linkat(AT_FDCWD, path(of: descriptor), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
  }

  /// Returns the path that the system provides for a descriptor of this process.
  private static func path(of descriptor: Int32) -> String {
    "\(String(cString: coffer_descriptors_folder()))/\(descriptor)"
  }
}
