internal import Glibc

/// The variables that stand in for key options: paths and commands, never a secret.
enum Environment {
  /// The first variable that is set decides; one whose key fails does not fall through to the next.
  static var key: KeyArgument? {
    if let path = variable("DBTOOL_KEY_FILE") { return .keyFile(path) }
    if let path = variable("DBTOOL_PASSPHRASE_FILE") { return .passphraseFile(path) }
    if let command = variable("DBTOOL_KEY_COMMAND") { return .command(command, option: "DBTOOL_KEY_COMMAND") }
    return nil
  }

  static var allowsTestKeys: Bool { variable("DBTOOL_ALLOW_TEST_KEYS") == "1" }

  /// Nil where the variable is not set or empty.
  private static func variable(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }
}
