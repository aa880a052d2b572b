#if canImport(Glibc)
  internal import Glibc
#endif

/// The folder of temporary files, all of which are sealed: `TMPDIR`, else `/tmp`.
enum TemporaryFolder {
  static var path: String {
    getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }
}
