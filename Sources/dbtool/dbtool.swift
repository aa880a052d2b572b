// dbtool: the command-line tool.
//
// Does: parses a command line, calls the library, and prints the results. Each verb has a file in Verbs.
// Knows: options and environment (Options), streams and tables (Output), passphrases, signals, processes (System), and
//        which options a file format supports (Documents).
// Does not know: how documents are sealed, stored, decoded or split, because Coffer, CofferFormats and CofferText do
//        that. Commands.md defines the names, streams and exit codes.

internal import ArgumentParser
internal import CofferEngine

/// The root of the command line: `dbtool VERB …`.
struct Dbtool: ParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "dbtool",
    abstract: "An encrypted document store in one file.",
    discussion: """
        dbtool keygen my.key
        dbtool import --create texts.coffer phrases.txt -k my.key
        export DBTOOL_STORE=texts.coffer DBTOOL_KEY_FILE=my.key
        dbtool ls
        dbtool show Greeting
        dbtool export -o phrases.csv
      """,
    version: "dbtool \(version) (\(LinkedLibraries.versions))",
    subcommands: [],
    groupedSubcommands: [
      CommandGroup(
        name: "Documents",
        subcommands: [
          ImportVerb.self, ExportVerb.self, ListVerb.self, ShowVerb.self, SearchVerb.self, QueryVerb.self,
          PutVerb.self, EditVerb.self, RemoveVerb.self, MoveVerb.self,
        ]),
      CommandGroup(
        name: "Stores and keys", subcommands: [KeygenVerb.self, CreateVerb.self, KeyVerb.self, RekeyVerb.self]),
      CommandGroup(
        name: "Safety",
        subcommands: [InfoVerb.self, VerifyVerb.self, BackupVerb.self, RestoreVerb.self, CompactVerb.self]),
      CommandGroup(
        name: "Several stores",
        subcommands: [CopyVerb.self, MergeVerb.self, DiffVerb.self, SyncVerb.self, ReleaseVerb.self, UpdateVerb.self]),
      CommandGroup(name: "Structure", subcommands: [CollectionVerb.self, AttachmentVerb.self, IndexVerb.self]),
      CommandGroup(name: moreGroup, subcommands: [BrowseVerb.self, ConvertVerb.self, ReplicaVerb.self]),
    ])

  /// The group of verbs that the help lists only by name.
  static let moreGroup = "More"
}

extension Dbtool {
  /// Parses and runs one command line. Only this function prints errors.
  static func run(_ arguments: some Collection<String>) -> ExitStatus {
    var arguments = LeadingOptions.behindVerb(CommandWords.splittingEmptyValues(Array(arguments)))
    let errors = ErrorReport(arguments: arguments)
    Interrupt.printsJSON = errors.isJSON
    do {
      do {
        try CommandWords.requireWords()
        try CommandWords.requireUTF8()
        try Process.requireDescriptors()
        // Check before parsing, because the parser's errors repeat words.
        try CommandWords.requireNoSecret(arguments)
        arguments = try StoreWord.inserted(in: StoreWord.browsing(arguments))
      } catch {
        return errors.print(Failure(error))
      }
      var command = try parseAsRoot(arguments)
      do {
        try Interrupt.sparingCommits { try command.run() }
        return .done
      } catch let failure as Failure {
        return errors.print(failure)
      } catch let outcome as Outcome {
        return outcome.status
      } catch let error as ClosedPipe {
        return Interrupt.hasStored ? errors.print(Failure(error).afterStoring) : .failed
      } catch let request where exitCode(for: request) == .success {
        throw request
      } catch let error as ValidationError {
        return errors.print(.usage(error.message))
      } catch {
        return errors.print(Failure(error))
      }
    } catch {
      return errors.print(parsing: error)
    }
  }
}
