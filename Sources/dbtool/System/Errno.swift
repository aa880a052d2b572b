internal import Glibc

/// The words of system errors.
enum Errno {
  static func failure(_ number: Int32, _ what: String) -> Failure {
    switch number {
    case ENOENT, ENOTDIR: return Failure(.noStore, kind: "no-such-file", "\(what): \(text(number))")
    case ENOSPC, EDQUOT, EFBIG: return Failure(.failed, kind: "disk-full", "\(what): \(text(number))")
    case EROFS, EACCES, EPERM: return Failure(.failed, kind: "not-permitted", "\(what): \(text(number))")
    case EEXIST: return .outputExists(what)
    default: return Failure(.failed, kind: "failed", "\(what): \(text(number))")
    }
  }

  /// The system's own words, in lower case at the start as our messages are.
  static func text(_ number: Int32) -> String {
    guard let words = strerror(number) else { return "error \(number)" }
    let text = String(cString: words)
    return text.prefix(1).lowercased() + text.dropFirst()
  }
}
