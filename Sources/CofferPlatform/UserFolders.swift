/// The places below a user's home that a system has for the files of programs.
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
