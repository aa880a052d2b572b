internal import ArgumentParser

extension ListFormat: ExpressibleByArgument {}

/// Options for output, common to all verbs.
struct CommonOptions: ParsableArguments {
  @Flag(name: .shortAndLong, help: "No notes, warnings or progress on standard error.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "More notes: the slot that opened, the use of every column, the ids of --sync.")
  var verbose = false

  @Flag(help: "Reports and lists as JSON; errors end with a JSON line.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "How lists and reports are printed; on a terminal no table cuts ids, numbers or dates.", valueName: "format"))
  var format: ListFormat?

  @Flag(name: .customShort("t"), help: "The same as --format table.")
  var table = false

  func validate() throws {
    if quiet, verbose { throw ValidationError("--quiet and --verbose exclude each other") }
  }

  var diagnostics: Diagnostics { Diagnostics(isQuiet: quiet, isVerbose: verbose) }

  /// Nil for the default: a table on a terminal, plain lines elsewhere.
  var listFormat: ListFormat? { format ?? (json ? .json : table ? .table : nil) }

  var isMachineReadable: Bool { listFormat != nil && listFormat != .table }
}

/// The progress of long work.
struct ProgressOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Progress on standard error.", valueName: "style", visibility: .hidden))
  var progress: Progress.Style = .auto
}
