internal import CofferPlatform

/// The folder for temporary files, all of which are sealed. It's `TMPDIR`, or `/tmp` if that isn't set.
enum TemporaryFolder {
  static var path: String {
    getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }
}
