internal import ArgumentParser

extension ListFormat: ExpressibleByArgument {}

/// How a verb talks: every verb has these.
struct CommonOptions: ParsableArguments {
  @Flag(help: "No notes, warnings or progress on standard error.")
  var quiet = false

  @Flag(help: "Reports and lists as JSON; errors end with a JSON line.")
  var json = false

  @Option(help: ArgumentHelp("How lists and reports are printed.", valueName: "format"))
  var format: ListFormat?

  var diagnostics: Diagnostics { Diagnostics(isQuiet: quiet) }

  /// Nil where the place decides: a table on a terminal, plain lines elsewhere.
  var listFormat: ListFormat? { format ?? (json ? .json : nil) }

  var isMachineReadable: Bool { listFormat != nil && listFormat != .table }

  /// Where slots are shown or removed, for people.
  ///
  /// - Parameter epochs: how many the store has; more than one while a rekey is unfinished.
  func tellWhatRemovingMeans(epochs: Int = 1) {
    guard !isMachineReadable else { return }
    diagnostics.note(
      epochs > 1
        ? "documents remain under old keys, which their holders may still know, until 'rekey --resume' is done"
        : "removing a slot is not revocation: who had its secret may hold an older copy, or the root key, until 'rekey'"
    )
  }
}

/// The progress of long work.
struct ProgressOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Progress on standard error.", valueName: "style"))
  var progress: Progress.Style = .auto
}
