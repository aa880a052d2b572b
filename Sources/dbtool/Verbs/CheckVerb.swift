internal import ArgumentParser
internal import Coffer
internal import CofferTerminal

/// `check STORE`: structure, without a key.
struct CheckVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check a store's structure, without a key.",
    discussion: """
      Checks schema, lengths and epochs, and runs SQLite's integrity check. 'verify', with a key, proves that every \
      document is what was written.

        dbtool check texts.coffer
      """)

  @OptionGroup var store: StoreArgument

  @Flag(help: "Leave out the check that every index fits its table.")
  var quick = false

  @OptionGroup(title: "Everywhere") var common: CommonOptions
  @OptionGroup(visibility: .hidden) var unneeded: UnneededKeys

  func run() throws {
    try store.requireExpected()
    let report = try DocumentStore.check(at: store.url, isQuick: quick, wait: store.access.waitingTime())
    if common.isMachineReadable || report.problems.isEmpty {
      try Report([
        ("structure", .string(report.problems.isEmpty ? "sound" : "damaged")),
        ("problems", .array(report.problems.map { .string($0) })),
      ]).print(as: common.listFormat)
    } else {
      let output = StandardOutput()
      for problem in report.problems {
        try output.write(line: escapingControls(problem))
      }
      try output.flush()
    }
    guard report.problems.isEmpty else {
      throw Failure(
        .damaged, kind: "damaged", "\(store.path) is damaged: \(counted(report.problems.count, "problem"))",
        hint: "restore it from a backup, or salvage what can be read; 'verify' says which documents can be trusted")
    }
  }
}
