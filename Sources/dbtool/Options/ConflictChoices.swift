internal import ArgumentParser
internal import Coffer

/// The option that limits `--delete`.
struct MoreConflictChoices: ParsableArguments {
  /// A part of a whole: `50%` or `50`.
  struct Percentage: ExpressibleByArgument {
    let fraction: Double

    init?(argument: String) {
      let digits = argument.hasSuffix("%") ? argument.dropLast() : argument[...]
      guard let number = Double(digits), (0...100).contains(number) else { return nil }
      fraction = number / 100
    }
  }

  @Option(
    help: ArgumentHelp("With --delete, the largest part that can be deleted (default: 50%).", valueName: "percent"))
  var maxDelete: Percentage?
}

/// The options for imported documents that the store already contains.
struct ConflictChoices: ParsableArguments {
  enum OnConflict: String, CaseIterable, ExpressibleByArgument {
    case fail, update, skip

    var mode: BulkOptions.Conflict {
      switch self {
      case .fail: .fail
      case .update: .update
      case .skip: .skip
      }
    }
  }

  @Option(
    help: ArgumentHelp(
      "The action for an existing key, or id with --keep-ids: fail (default), update or skip.", valueName: "mode"))
  var onConflict: OnConflict?

  @Flag(
    help: "Match the collection to the input: add, update by id or key, and keep unchanged documents.")
  var sync = false

  @Flag(help: "With --sync, remove documents that aren't in the input.")
  var delete = false

  @OptionGroup(title: "More") var more: MoreConflictChoices

  func validate() throws {
    if sync, onConflict != nil {
      throw ValidationError("--sync settles conflicts itself: it does not go with --on-conflict")
    }
    if delete, !sync { throw ValidationError("--delete belongs to --sync") }
    if more.maxDelete != nil, !delete { throw ValidationError("--max-delete belongs to --delete") }
  }

  var stale: SyncOptions.Stale {
    delete ? .remove(atMost: more.maxDelete?.fraction ?? 0.5) : .keep
  }
}
