/// The folders in a user's home in which a system stores programs' files.
package enum UserFolders {
  /// The folder for data, relative to the home. In an app with a container, the home is the container.
  package static var data: String {
    #if canImport(Darwin)
      "Library/Application Support"
    #else
      ".local/share"
    #endif
  }
}
