// dbtool: the command line tool.
//
// Does: parses a command line, calls the library, prints. One file per verb (folder Verbs).
// Knows: options and environment (Options), streams and tables (Output), passphrases, signals, processes (System), and
//        which file format meets which option (Documents).
// Does not know: how anything is sealed, stored, decoded or cut into documents; that is Coffer, CofferFormats and
//        CofferText. The contract it keeps is Commands.md: names, streams and exit codes.

internal import ArgumentParser

/// The root of the command line: `dbtool VERB …`.
struct Dbtool: ParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "dbtool",
    abstract: "An encrypted document store in one SQLite file.",
    discussion: """
      A session, from a spreadsheet's "Unicode Text" to an encrypted store and back:

        dbtool keygen my.key
        dbtool import texts.coffer phrases.txt --create --key-file my.key
        export DBTOOL_KEY_FILE=my.key
        dbtool ls texts.coffer
        dbtool show texts.coffer 1
        dbtool export texts.coffer --to csv -o phrases.csv

      A key is read from a file, an identity, a passphrase (asked, or from a file), a descriptor, a command or a \
      provider; never from an argument. 'dbtool VERB --help' never asks for one. Options of keys and of every verb may \
      be in front of the verb, too. --generate-completion-script bash|zsh|fish prints a completion script. A list is \
      read to its end before dbtool waits for a slow reader, so that 'ls | less' keeps no writer out. Control \
      characters are escaped on a terminal, in every format.
      """,
    version: "dbtool \(version)",
    subcommands: [],
    groupedSubcommands: [
      CommandGroup(
        name: "Keys",
        subcommands: [KeygenVerb.self, RecipientVerb.self, KeyVerb.self, RekeyVerb.self]),
      CommandGroup(
        name: "Documents",
        subcommands: [
          CreateVerb.self, ImportVerb.self, ExportVerb.self, ListVerb.self, CollectionsVerb.self, ShowVerb.self,
          BrowseVerb.self, PutVerb.self, EditVerb.self, RemoveVerb.self, MoveVerb.self, CopyVerb.self, SortVerb.self,
          TruncateVerb.self, SearchVerb.self, QueryVerb.self, IndexVerb.self,
        ]),
      CommandGroup(
        name: "Looking after a store",
        subcommands: [
          InfoVerb.self, CheckVerb.self, VerifyVerb.self, SalvageVerb.self, AnchorVerb.self, BackupVerb.self,
          RestoreVerb.self, ForkVerb.self, MergeVerb.self, DiffVerb.self, CompactVerb.self,
        ]),
      CommandGroup(
        name: "Replicas", subcommands: [AdoptVerb.self, PromoteVerb.self, TailVerb.self]),
      CommandGroup(name: "Without a store", subcommands: [ConvertVerb.self]),
    ])
}

extension Dbtool {
  /// Parses and runs one command line; the only place that prints errors.
  static func run(_ arguments: some Collection<String>) -> ExitStatus {
    var arguments = LeadingOptions.behindVerb(Array(arguments))
    let errors = ErrorReport(arguments: arguments)
    do {
      do {
        try CommandWords.requireWords()
        try CommandWords.requireUTF8()
        try Process.requireDescriptors()
        // Before the parser, whose errors repeat words.
        try CommandWords.requireNoSecret(arguments)
        arguments = try StoreWord.inserted(in: arguments)
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
