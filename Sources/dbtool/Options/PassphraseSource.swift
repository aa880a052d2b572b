internal import Coffer
internal import CofferEngine
internal import CofferSealing

/// The source of a passphrase, with the options for keys that are given by mistake.
struct PassphraseSource: Sendable {
  /// The purpose of the passphrase.
  enum Purpose {
    case opening
    /// A new slot. The option makes a slot for a recipient, and is `nil` if the verb doesn't have this option.
    case newSlot(prefix: String, recipients: String?)
  }

  /// The file, or `nil` for a terminal.
  let path: String?
  let purpose: Purpose

  /// Returns the passphrase, unless it's a key line or text in another encoding.
  ///
  /// - Throws: `keyFileInvalid`, with the option to use.
  func checked(_ secret: Secret) throws(StoreError) -> Secret {
    let form = SecretForm(of: secret)
    guard let fault = form.passphraseFault else { return secret }
    let source = path ?? "the answer"
    guard let line = form.line else {
      throw StoreError(
        .keyFileInvalid, "\(source) \(fault), and a passphrase is UTF-8 without a mark",
        hint: "save it as UTF-8 without a byte order mark")
    }
    throw StoreError(
      .keyFileInvalid, "\(source) \(fault): that is no passphrase",
      hint: ErrorHint(hint(for: line, isSound: (try? KeyLine(parsing: secret)) != nil)))
  }

  /// - Parameter isSound: Whether the file can be used unchanged as a key file.
  private func hint(for line: SecretForm.Line, isSound: Bool) -> String {
    let file = path.map { Shell.quoted(path: $0) } ?? "FILE"
    let option =
      switch purpose {
      case .opening: "--key-file"
      case .newSlot(let prefix, _): "--\(prefix)key-file"
      }
    let copying = "copy the line alone into a file, without a byte order mark, and use "
    switch line {
    case .key, .identity:
      return isSound && path != nil ? "use \(option) \(file)" : copying + "\(option) FILE"
    case .recipient:
      guard case .newSlot(_, let recipients) = purpose else {
        return "a recipient opens nothing: use --key-file with its identity file"
      }
      let words = recipients ?? "dbtool key add STORE --recipients-file"
      return isSound && path != nil ? "use \(words) \(file)" : copying + "\(words) FILE"
    case .signing, .publisher:
      return "\(line.name) belongs to signatures and opens nothing: use \(option) with a key file"
    case .pin: return "use --pin with the pin"
    case .anchor: return "use 'dbtool verify --anchor' with the anchor's file"
    case .ageIdentity, .ageRecipient: return "make a key with 'dbtool keygen FILE', and use \(option) FILE"
    }
  }
}
