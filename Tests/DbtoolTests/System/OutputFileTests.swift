import CofferTestSupport
import Foundation
import Testing

/// The files that verbs write, in a folder that others can write to.
@Suite struct OutputFileTests {
  /// Verbs that write texts or keys to the path `new`.
  private static let secret: [[String]] = [
    ["keygen", "new"], ["create", "new"], ["import", "--create", "new", "in.txt"], ["backup", "s.coffer", "new"],
    ["restore", "new", "s.coffer"], ["copy", "s.coffer", "new", "--new-key-file", "next.key"],
    ["copy", "s.coffer", "new", "--editable", "--new-key-file", "next.key"],
    ["copy", "s.coffer", "new", "--salvage", "--new-key-file", "next.key"],
    ["export", "s.coffer", "--to", "ndjson", "-o", "new"], ["export", "s.coffer", "--to", "text", "-o", "new"],
    ["export", "s.coffer", "--to", "sqlite", "-o", "new"],
    ["replica", "tail", "s.coffer", "--since", "1", "-o", "new"],
  ]

  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "Sail at dawn.", "-c", "notes")
    try sandbox.write("in.txt", "more")
    return sandbox
  }

  /// The umask allows everything.
  @Test(arguments: secret) func ownerAloneReadsOutput(_ words: [String]) throws {
    let sandbox = try sandbox()
    let run = try sandbox.run(words, under: ["sh", "-c", "umask 0; exec \"$0\" \"$@\""])
    #expect(run.status == 0, "\(run.errors)")
    let isFolder = words.contains("text")
    #expect(try sandbox.mode(of: "new") == (isFolder ? 0o700 : 0o600))
    guard isFolder else { return }
    let files = try FileManager.default.contentsOfDirectory(atPath: sandbox.path("new"))
    #expect(try Set(files.map { try sandbox.mode(of: "new/\($0)") }) == [0o600])
  }

  /// Another user can put a link where an output is expected.
  @Test(
    arguments: secret + [
      ["backup", "s.coffer", "new", "--force"], ["restore", "new", "s.coffer", "--force"],
      ["export", "s.coffer", "--to", "ndjson", "-o", "new", "--force"], ["convert", "in.txt", "-o", "new", "--force"],
      ["verify", "s.coffer", "--save-anchor", "new"],
    ]) func writesNothingThroughLink(_ words: [String]) throws
  {
    let sandbox = try sandbox()
    for target in ["in.txt", "missing"] {
      try? sandbox.remove("new")
      try FileManager.default.createSymbolicLink(atPath: sandbox.path("new"), withDestinationPath: sandbox.path(target))
      let run = try sandbox.run(words)
      #expect([0, 1, 10].contains(run.status), "\(run.errors)")
      let isLink = (try? FileManager.default.destinationOfSymbolicLink(atPath: sandbox.path("new"))) != nil
      #expect(isLink == (run.status != 0), "\(words)")
      #expect(try sandbox.text(of: "in.txt") == "more" && !sandbox.exists("missing"), "\(words)")
    }
  }

  /// The editor gets a path that a title can't change, so a title is no option or path.
  @Test(arguments: ["-c:!id", "../../x", "a\nb", "$(id)", "'; id; '", "--help", ".vimrc"])
  func editsFileNamedByID(_ title: String) throws {
    let sandbox = try sandbox()
    try sandbox.succeed("put", "s.coffer", "--title=\(title)", "--text", "x", "-c", "notes")
    sandbox.environment["EDITOR"] = #"f() { echo "$#" "${1##*/}" > seen; }; f"#
    try sandbox.succeed("edit", "s.coffer", "2")
    #expect(try sandbox.text(of: "seen") == "1 document-2.txt\n")
  }
}
