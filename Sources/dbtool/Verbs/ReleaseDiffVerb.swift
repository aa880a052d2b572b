internal import ArgumentParser
internal import Coffer
internal import CofferCopies
internal import CofferEngine

/// `release diff COPY DIRECTORY`: lists a user's changes in a copy since its release.
struct ReleaseDiffVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Show the edits in a copy since its release.",
    discussion: """
      Rebuilds the release from DIRECTORY in a temporary store, proves that it is the publisher's, and compares the \
      copy with it. The copy must have the folder's newest release. The exit code is 0 without edits, or 4 with edits.

        dbtool release diff texts.coffer public --customer anna -k anna.identity \\
          --publisher coffer-publisher-1-…
      """)

  @OptionGroup var options: StoreOptions

  @OptionGroup var source: ReleaseSourceOptions

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func run() throws {
    let source = try source.opened(for: "release diff", options)
    let key = source.key
    defer { key.forget() }
    let store = try options.open(with: key, readOnly: true, asReleased: false)
    let bar = Progress("diff", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    let found = try Interrupt.deferring {
      try store.changes(sinceReleaseOf: source) {
        bar.update($0)
        try Interrupt.check()
      }
    }
    bar.finish()
    try store.close()
    try found.print(as: options.common.listFormat)
    guard found.isEmpty else { throw Outcome(.answerIsNo) }
  }
}
