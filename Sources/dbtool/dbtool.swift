// dbtool: the command line tool.
//
// Does: parses a command line, calls the library, prints. One file per verb (folder Verbs).
// Knows: options and environment (Options), streams and tables (Output), passphrases, signals, processes (System), and
//        which file format meets which option (Documents).
// Does not know: how anything is sealed, stored, decoded or cut into documents; that is Coffer, CofferFormats and
//        CofferText. The contract it keeps is Commands.md: names, streams and exit codes.

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

  /// The group of verbs that the help only names.
  static let moreGroup = "More"
}

extension Dbtool {
  /// Parses and runs one command line; the only place that prints errors.
  static func run(_ arguments: some Collection<String>) -> ExitStatus {
    var arguments = LeadingOptions.behindVerb(CommandWords.splittingEmptyValues(Array(arguments)))
    let errors = ErrorReport(arguments: arguments)
    Interrupt.printsJSON = errors.isJSON
    do {
      do {
        try CommandWords.requireWords()
        try CommandWords.requireUTF8()
        try Process.requireDescriptors()
        // Before the parser, whose errors repeat words.
        try CommandWords.requireNoSecret(arguments)
        arguments = try StoreWord.inserted(in: StoreWord.browsing(arguments))
      } catch {
        return errors.print(Failure(error))
      }
      var command = try parseAsRoot(arguments)
      do {
        try command.run()
        return .done
      } catch let failure as Failure {
        return errors.print(failure)
      } catch let outcome as Outcome {
        return outcome.status
      } catch is ClosedPipe {
        return .failed
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
