internal import ArgumentParser

extension ListFormat: ExpressibleByArgument {}

/// Options for output, common to all verbs.
struct CommonOptions: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Hide notes, warnings and progress on standard error.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Print more notes: the opened slot, the use of every column, the ids of --sync.")
  var verbose = false

  @Flag(help: "Print reports and lists as JSON, and end errors with a JSON line.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "The list and report format. On a terminal, tables never cut ids, numbers or dates.", valueName: "format"))
  var format: ListFormat?

  @Flag(name: .customShort("t"), help: "The same as --format table.")
  var table = false

  func validate() throws {
    if quiet, verbose { throw ValidationError("--quiet and --verbose exclude each other") }
  }

  var diagnostics: Diagnostics { Diagnostics(isQuiet: quiet, isVerbose: verbose) }

  /// The format, or `nil` for a table on a terminal and plain lines elsewhere.
  var listFormat: ListFormat? { format ?? (json ? .json : table ? .table : nil) }

  var isMachineReadable: Bool { listFormat != nil && listFormat != .table }
}

/// The option for the progress of long work.
struct ProgressOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Progress on standard error.", valueName: "style", visibility: .hidden))
  var progress: Progress.Style = .auto
}
