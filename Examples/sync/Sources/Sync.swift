import ArgumentParser
import Coffer
import CofferFormats
import Foundation

/// The program: keeps a store equal to a feed that was saved in a folder.
struct Sync: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes a collection equal to the JSON records in a folder.",
    discussion: "FEED holds feed.json, {\"revision\": \"…\", \"files\": [\"…\"]}, and the files that it names.")
  @Argument(help: "The folder with the feed.") var feed: String
  @Argument(help: "The store; created if it is missing.") var store: String
  @Option(help: "A key file.") var keyFile: String
  @Option(help: "The largest part of the articles, in percent, that one update may remove.") var maxRemoved = 50.0
  @Flag(help: "Goes on, and looks for a new revision four times a second, until Ctrl-C.") var follow = false

  func run() async throws {
    let folder = URL(filePath: feed)
    let mirror = try Mirror(at: URL(filePath: store), key: .keyFile(URL(filePath: keyFile)))
    var last = try report(mirror.update(from: folder, removingAtMost: maxRemoved / 100), of: mirror)
    var complaint: String?
    while follow {
      try await Task.sleep(for: .milliseconds(250))
      // A bad feed is reported once. The store stays as it is, and a later revision may be good.
      do {
        guard try Manifest(in: folder).revision != last else { continue }
        last = try report(mirror.update(from: folder, removingAtMost: maxRemoved / 100), of: mirror)
        complaint = nil
      } catch {
        let sentence = Self.sentence(of: error)
        if sentence != complaint { Self.complain(sentence) }
        complaint = sentence
      }
    }
  }

  /// Prints what an update changed.
  ///
  /// - Returns: the feed's revision.
  private func report(_ outcome: Mirror.Outcome, of mirror: Mirror) throws -> String {
    switch outcome {
    case .unchanged(let revision):
      say("revision \(revision): nothing new")
      return revision
    case .changed(let revision, let report):
      say(
        "revision \(revision): added: \(report.created.count), changed: \(report.updated.count), "
          + "removed: \(report.deleted.count), as before: \(report.unchanged.count)")
      for title in try mirror.titles(of: report.created) { say("+ \(title)") }
      for title in try mirror.titles(of: report.updated) { say("~ \(title)") }
      return revision
    }
  }

  private func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  static func complain(_ sentence: String) {
    FileHandle.standardError.write(Data("sync: \(sentence)\n".utf8))
  }

  /// An error in words, and the next step.
  static func sentence(of error: any Error) -> String {
    guard let error = error as? StoreError else { return "\(error)" }
    let hint = error.advice.map { advice in
      advice.text { action in
        switch action {
        case .info, .pin: "dbtool info"
        case .makeKey: "dbtool keygen"
        case .verify: "dbtool verify"
        default: action.rawValue
        }
      }
    }
    return hint.map { "\(error.message); \($0)" } ?? error.message
  }
}

@main enum Program {
  static func main() async {
    do {
      let command = try Sync.parse()
      do {
        try await command.run()
      } catch {
        Sync.complain(Sync.sentence(of: error))
        exit(1)
      }
    } catch {
      Sync.exit(withError: error)
    }
  }
}
