internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferText

/// An error of the command, with the exit code, a kind for programs, a message, and at most one hint.
///
/// Contains only names, IDs and positions, but never secrets or document text.
struct Failure: Error {
  let status: ExitStatus
  /// The kind in the JSON line, in lower case with dashes.
  let kind: String
  let message: String
  let hint: String?

  init(_ status: ExitStatus, kind: String, _ message: String, hint: String? = nil) {
    self.status = status
    self.kind = kind
    self.message = message
    self.hint = hint
  }
}

extension Failure {
  /// Adds a store's path to errors that don't name a store, for verbs that read two stores.
  static func naming<R>(_ path: String, _ work: () throws -> R) throws -> R {
    do {
      return try work()
    } catch let error as StoreError {
      let failure = Failure(error)
      guard failure.status == .damaged || failure.status == .mismatch, !failure.message.contains(path) else {
        throw failure
      }
      throw Failure(failure.status, kind: failure.kind, "\(path): \(failure.message)", hint: failure.hint)
    }
  }

  static func usage(_ message: String, hint: String? = nil) -> Failure {
    Failure(.usage, kind: "usage", message, hint: hint)
  }

  static func failed(_ message: String, hint: String? = nil) -> Failure {
    Failure(.failed, kind: "failed", message, hint: hint)
  }

  static func noSuchDocument(_ what: String) -> Failure {
    Failure(.noDocument, kind: "no-such-document", "no such document: \(what)")
  }

  /// - Parameter prefix: The prefix of the key options.
  static func keyNeeded(_ reason: String, prefix: String = "") -> Failure {
    let options = ["key-file", "passphrase-file", "key-command"]
      .map { "--\(prefix)\($0)" }.joined(separator: ", ")
    // Environment variables never name a new key.
    let variables = prefix.isEmpty ? "; or set DBTOOL_KEY_FILE, DBTOOL_PASSPHRASE_FILE or DBTOOL_KEY_COMMAND" : ""
    return Failure(
      .keyNeeded, kind: "key-needed", "a \(prefix.isEmpty ? "" : "new ")key is needed, and \(reason)",
      hint: "give one of \(options)\(variables)")
  }

  static func outputExists(_ path: String) -> Failure {
    Failure(.failed, kind: "already-exists", "\(path) exists already", hint: "--force replaces it")
  }

  /// Returns the error for an output that is also being read, under any name.
  static func outputIsInput(_ path: String) -> Failure {
    .failed("\(path) is what is being read: an output never goes over an input", hint: "name another file")
  }

  /// Returns the error for a new store at an existing path. A file that isn't a store, or is being read, is never
  /// replaced.
  static func storeExists(_ path: String, reading input: String) -> Failure {
    guard !InputFile.isSameFile(path, input) else { return .outputIsInput(path) }
    guard StoreWord.isStore(path) else {
      return Failure(
        .failed, kind: "already-exists", "\(path) exists already, and is no store", hint: "name another file")
    }
    return .outputExists(path)
  }

  static var interrupted: Failure {
    Failure(.interrupted, kind: "interrupted", "interrupted")
  }

  /// Returns the error for a failed system call with its `errno`.
  static func system(_ number: Int32, _ what: String) -> Failure {
    let message = "\(what): \(systemMessage(number))"
    switch number {
    case ENOENT, ENOTDIR: return Failure(.failed, kind: "no-such-file", message)
    case ENOSPC, EDQUOT, EFBIG: return Failure(.failed, kind: "disk-full", message)
    case EROFS, EACCES, EPERM: return Failure(.failed, kind: "not-permitted", message)
    case EEXIST: return Failure(.failed, kind: "already-exists", "\(what) exists already")
    case EINTR where Interrupt.isRequested: return .interrupted
    default: return .failed(message)
    }
  }

  /// Returns the system's message with a lowercase first letter.
  static func systemMessage(_ number: Int32) -> String {
    guard let words = strerror(number) else { return "error \(number)" }
    let text = String(cString: words)
    return text.prefix(1).lowercased() + text.dropFirst()
  }
}

extension Failure {
  /// The failure to print a report, which says whether the verb has stored its change.
  var afterStoring: Failure {
    guard Interrupt.hasStored else { return self }
    return Failure(status, kind: kind, "\(message); the change is stored", hint: "don't repeat the command")
  }
}

/// The error after the reader of standard output closes the pipe. It's printed only if the verb has stored a change.
struct ClosedPipe: Error {}
