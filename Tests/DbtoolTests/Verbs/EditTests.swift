import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests edit, which opens a text in an editor and removes its traces.
@Suite struct EditTests {
  /// Creates a store with document 1, and an in-memory folder that must be empty after editing.
  private func sandbox(_ text: String = "Sail at dawn.") throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--key-name", "plan", "--text", text)
    let memory = "/dev/shm/dbtool-tests-\(UUID().uuidString)"
    try #require(mkdir(memory, 0o700) == 0)
    sandbox.environment["XDG_RUNTIME_DIR"] = memory
    return sandbox
  }

  private func expectNoTraces(_ sandbox: Sandbox, location: SourceLocation = #_sourceLocation) throws {
    let memory = try #require(sandbox.environment["XDG_RUNTIME_DIR"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: memory).isEmpty, sourceLocation: location)
    rmdir(memory)
  }

  @Test func wipesTextOfKilledEdit() throws {
    let sandbox = try sandbox()
    // The editor kills dbtool, copies the remaining file and ends.
    sandbox.environment["EDITOR"] = #"f() { kill -9 $PPID; cat "$1" > "$SEEN"; }; f"#
    sandbox.environment["SEEN"] = sandbox.path("seen")
    #expect(try sandbox.run("edit", "s.coffer", "1").status == -SIGKILL)
    let memory = try #require(sandbox.environment["XDG_RUNTIME_DIR"])
    try waitUntil { try FileManager.default.contentsOfDirectory(atPath: memory).isEmpty }
    #expect(try sandbox.text(of: "seen") == "Sail at dawn.")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "Sail at dawn.")
    try expectNoTraces(sandbox)
  }

  @Test(.enabled(if: FailedSync.isPossible, "strace can't run here"))
  func wipesUnlistableFolder() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "true"
    let result = try FailedSync.run(
      "edit", "s.coffer", "1", failing: "getdents64", at: 1, fromThenOn: true, in: sandbox)
    #expect(result.status == 0, "\(result.errors)")
    try expectNoTraces(sandbox)
  }

  @Test func storesEditedTextAndTitle() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "sed -i s/dawn/dusk/"
    let result = try sandbox.succeed("edit", "s.coffer", "1")
    #expect(result.output.isEmpty)
    #expect(result.diagnostics == "dbtool: document 1 stored\n")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "Sail at dusk.")
    #expect(try sandbox.succeed("ls", "s.coffer").text.contains("Sail at dusk."))
    try sandbox.succeed("verify", "s.coffer")
    try expectNoTraces(sandbox)
  }

  @Test func editsDocumentByKey() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "sed -i s/dawn/noon/"
    let result = try sandbox.succeed("edit", "s.coffer", "--key-name", "plan", "--json")
    #expect(result.text == #"{"id":1,"changed":true}"# + "\n")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "Sail at noon.")
    try expectNoTraces(sandbox)
  }

  @Test func keepsPrivateFileInMemory() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = #"f() { stat -c '%a %n' "$1" "${1%/*}"; cat "$1"; }; f"#
    let result = try sandbox.succeed("edit", "s.coffer", "1")
    let lines = result.lines
    let memory = try #require(sandbox.environment["XDG_RUNTIME_DIR"])
    #expect(lines.count == 3 && lines[0].hasPrefix("600 \(memory)/dbtool-") && lines[0].hasSuffix("/document-1.txt"))
    #expect(lines[1].hasPrefix("700 \(memory)/dbtool-") && lines[2] == "Sail at dawn.")
    try expectNoTraces(sandbox)
  }

  @Test func skipsWritingUnchangedText() throws {
    let sandbox = try sandbox()
    let before = try sandbox.read("s.coffer")
    for editor in ["true", "touch", #"f() { cp "$1" "$1.new"; mv "$1.new" "$1"; }; f"#, #"f() { echo >> "$1"; }; f"#] {
      sandbox.environment["EDITOR"] = editor
      #expect(try sandbox.succeed("edit", "s.coffer", "1").diagnostics == "dbtool: document 1 is unchanged\n")
    }
    #expect(try sandbox.read("s.coffer") == before)
    try expectNoTraces(sandbox)
  }

  @Test func prefersVisualOverEditor() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "false"
    sandbox.environment["VISUAL"] = "sed -i s/Sail/Row/"
    try sandbox.succeed("edit", "s.coffer", "1")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "Row at dawn.")
    try expectNoTraces(sandbox)
  }

  /// Returns the file that an error names, and removes it with its folder.
  private func takeKeptText(_ errors: String, of sandbox: Sandbox) throws -> [UInt8] {
    let memory = try #require(sandbox.environment["XDG_RUNTIME_DIR"])
    let line = try #require(errors.split(separator: "\n").first { $0.contains("; your text is in ") }, "\(errors)")
    let match = try #require(line.firstMatch(of: #/your text is in ([^ ]+) \(in memory/#), "\(errors)")
    let path = String(match.1)
    #expect(path.hasPrefix("\(memory)/dbtool-unsaved-") && path.hasSuffix("/document-1.txt"))
    let folder = String(path.dropLast("/document-1.txt".count))
    let command = "dbtool put --store s.coffer --id 1 \(path)"
    #expect(errors.contains("hint: store it with: \(command); then delete it: rm -r \(folder)\n"), "\(errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["document-1.txt"])
    for (name, mode) in [(folder, 0o700), (path, 0o600)] {
      #expect(try FileManager.default.attributesOfItem(atPath: name)[.posixPermissions] as? Int == mode)
    }
    let text = [UInt8](try Data(contentsOf: URL(filePath: path)))
    try FileManager.default.removeItem(atPath: folder)
    return text
  }

  @Test func failedEditorKeepsText() throws {
    let sandbox = try sandbox()
    let before = try sandbox.read("s.coffer")
    for (end, words) in [("exit 3", "ended with 3"), ("kill -9 $$", "was ended by signal 9")] {
      sandbox.environment["EDITOR"] = #"f() { echo other > "$1"; echo old > "$1~"; \#(end); }; f"#
      let result = try sandbox.run("edit", "s.coffer", "1")
      #expect(result.status == 1)
      #expect(result.diagnostics.hasPrefix("dbtool: error: the editor \(words): nothing was changed; your text is in "))
      #expect(try takeKeptText(result.errors, of: sandbox) == Array("other\n".utf8))
    }
    #expect(try sandbox.read("s.coffer") == before)
    try expectNoTraces(sandbox)
  }

  @Test func failedEditorWithoutChangesLeavesNoText() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = "false"
    let result = try sandbox.run("edit", "s.coffer", "1")
    #expect(result.diagnostics == "dbtool: error: the editor ended with 1: nothing was changed\n")
    try expectNoTraces(sandbox)
  }

  @Test func rejectsInvalidText() throws {
    let sandbox = try sandbox()
    let before = try sandbox.read("s.coffer")
    sandbox.environment["EDITOR"] = #"f() { printf '\377\376' > "$1"; echo old > "$1~"; }; f"#
    let result = try sandbox.run("edit", "s.coffer", "1")
    #expect(result.status == 22)
    #expect(try takeKeptText(result.errors, of: sandbox) == [0xFF, 0xFE])
    sandbox.environment["EDITOR"] = "truncate -s 0"
    let empty = try sandbox.run("edit", "s.coffer", "1")
    #expect(empty.status == 1 && empty.errors.contains("the text is empty"))
    #expect(try sandbox.read("s.coffer") == before)
    try expectNoTraces(sandbox)
  }

  @Test func lockedStoreKeepsText() throws {
    let sandbox = try sandbox()
    // Another process begins to write while the editor runs.
    let database = try Database(sandbox.path("s.coffer"))
    try #require(mkfifo(sandbox.path("begun"), 0o600) == 0 && mkfifo(sandbox.path("locked"), 0o600) == 0)
    sandbox.environment["EDITOR"] = #"f() { echo mine > "$1"; echo > begun; read -r line < locked; }; f"#
    let (nowhere, errors) = (open("/dev/null", O_RDWR | O_CLOEXEC), sandbox.path("errors"))
    let file = open(errors, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    let child = try Child(
      ["edit", "s.coffer", "1", "--wait", "0"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: file))
    for descriptor in [nowhere, file] { close(descriptor) }
    let begun = open(sandbox.path("begun"), O_RDONLY | O_CLOEXEC)
    var byte: UInt8 = 0
    #expect(read(begun, &byte, 1) == 1)
    close(begun)
    try database.execute("BEGIN IMMEDIATE")
    let locked = open(sandbox.path("locked"), O_WRONLY | O_CLOEXEC)
    #expect(write(locked, "\n", 1) == 1)
    close(locked)
    let outcome = (status: child.wait(), errors: try sandbox.text(of: "errors"))
    #expect(outcome.status == 11, "\(outcome.errors)")
    try database.execute("ROLLBACK")
    let line = try #require(outcome.errors.firstMatch(of: /dbtool put (--store s.coffer --id 1 [^;]+);/))
    try sandbox.succeed(["put"] + line.1.split(separator: " ").map(String.init))
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "mine\n")
    #expect(try takeKeptText(outcome.errors, of: sandbox) == Array("mine\n".utf8))
    try expectNoTraces(sandbox)
  }

  @Test func hintStoresTextBesideVariable() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] = #"f() { echo mine > "$1"; exit 3; }; f"#
    try sandbox.succeed("create", "other.coffer", "--test")
    sandbox.environment["DBTOOL_STORE"] = "other.coffer"
    let result = try sandbox.run("edit", "--store", "s.coffer", "1")
    let line = try #require(result.errors.firstMatch(of: /dbtool put ([^;]+);/), "\(result.errors)")
    try sandbox.succeed(["put"] + line.1.split(separator: " ").map(String.init))
    #expect(try sandbox.succeed("show", "--store", "s.coffer", "1").text == "mine\n")
    #expect(try takeKeptText(result.errors, of: sandbox) == Array("mine\n".utf8))
    try expectNoTraces(sandbox)
  }

  @Test func changedKeyKeepsText() throws {
    let sandbox = try sandbox()
    sandbox.environment["EDITOR"] =
      #"f() { "# + Sandbox.dbtool + #" rekey s.coffer --new-key-file next.key > /dev/null 2>&1; echo mine > "$1"; }; f"#
    let result = try sandbox.run("edit", "s.coffer", "1")
    #expect(result.status == 12, "\(result.errors)")
    #expect(try takeKeptText(result.errors, of: sandbox) == Array("mine\n".utf8))
    try expectNoTraces(sandbox)
  }

  @Test(.enabled(if: NoMemory.isPossible, "no file system can be mounted here"))
  func fullDiskKeepsText() throws {
    let sandbox = try sandbox()
    try FileManager.default.createDirectory(atPath: sandbox.path("disk"), withIntermediateDirectories: false)
    try sandbox.write(
      "run.sh",
      """
      mount -t tmpfs -o size=$(($(stat -c %s s.coffer) + 16384)) none disk && cp s.coffer disk/s.coffer
      "$@"; status=$?; umount disk; exit $status
      """)
    sandbox.environment["EDITOR"] = #"f() { head -c 200000 /dev/zero | tr '\0' x > "$1"; }; f"#
    let result = try sandbox.run(
      ["edit", "disk/s.coffer", "1"], under: ["unshare", "--mount", "sh", "run.sh"])
    #expect(result.status == 1 && result.errors.contains("full"), "\(result.errors)")
    let match = try #require(result.errors.firstMatch(of: #/your text is in ([^ ]+) \(/#))
    #expect(try Data(contentsOf: URL(filePath: String(match.1))) == Data(repeating: UInt8(ascii: "x"), count: 200_000))
    try FileManager.default.removeItem(atPath: String(match.1.dropLast("/document-1.txt".count)))
    try expectNoTraces(sandbox)
  }

  @Test func signalKeepsChangedText() throws {
    let sandbox = try sandbox()
    let child = try editing(
      sandbox, with: #"f() { echo mine > "$1"; echo yes > running; exec cat running; }; f"#)
    child.signal(SIGHUP)
    #expect(child.wait() == 130)
    let memory = try #require(sandbox.environment["XDG_RUNTIME_DIR"])
    let folder = try #require(try FileManager.default.contentsOfDirectory(atPath: memory).first)
    #expect(folder.hasPrefix("dbtool-unsaved-"))
    let text = try String(contentsOfFile: "\(memory)/\(folder)/document-1.txt", encoding: .utf8)
    #expect(text == "mine\n")
    try FileManager.default.removeItem(atPath: "\(memory)/\(folder)")
    try expectNoTraces(sandbox)
  }

  @Test func nextEditRemovesAbandonedText() throws {
    let sandbox = try sandbox()
    let memory = try #require(sandbox.environment["XDG_RUNTIME_DIR"])
    let folder = "\(memory)/\(TemporaryName.draft())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try Data("text".utf8).write(to: URL(filePath: "\(folder)/document-9.txt"))
    // The first edit is still running when the second one begins.
    sandbox.environment["EDITOR"] =
      #"f() { EDITOR=true "# + Sandbox.dbtool + #" edit s.coffer 1 2> /dev/null; echo mine > "$1"; }; f"#
    try sandbox.succeed("edit", "s.coffer", "1")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "mine")
    try expectNoTraces(sandbox)
  }

  @Test func storesConflictingEditAsNewDocument() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("put", "s.coffer", "--text", "last")
    sandbox.environment["EDITOR"] =
      #"f() { "# + Sandbox.dbtool + #" put s.coffer --id 1 --text theirs > /dev/null; echo mine > "$1"; }; f"#
    let result = try sandbox.run("edit", "s.coffer", "1")
    #expect(result.status == 1)
    #expect(result.errors.contains("document 1 was changed or deleted meanwhile; your text was stored as"))
    #expect(result.errors.contains("document 3\n"))
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "theirs")
    #expect(try sandbox.succeed("show", "s.coffer", "3").text == "mine")
    #expect(try sandbox.succeed("ls", "s.coffer").text.contains("3\tmine\t"))
    let ids = try sandbox.succeed("ls", "s.coffer").lines.compactMap { $0.split(separator: "\t").first }
    #expect(ids == ["1", "3", "2"])
    let bytes = try sandbox.read("s.coffer")
    #expect(Data(bytes).range(of: Data("mine".utf8)) == nil)
    try expectNoTraces(sandbox)
  }

  @Test func keepsEditOfDeletedDocument() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "of notes", "--title", "Note")
    // A title of its own stays, as after an edit without a conflict.
    sandbox.environment["EDITOR"] =
      #"f() { "# + Sandbox.dbtool + #" rm s.coffer 2 > /dev/null; echo mine > "$1"; }; f"#
    let result = try sandbox.run("edit", "s.coffer", "2")
    #expect(result.status == 1 && result.errors.contains("your text was stored as document 3"))
    #expect(try sandbox.succeed("ls", "s.coffer", "-c", "notes").text.hasPrefix("3\tNote\t"))
    #expect(try sandbox.succeed("show", "s.coffer", "3").text == "mine")
  }

  @Test func requiresEditorAndDocument() throws {
    let sandbox = try sandbox()
    let result = try sandbox.run("edit", "s.coffer", "1")
    #expect(result.status == 1 && result.errors.contains("no editor is set"))
    sandbox.environment["EDITOR"] = "false"
    #expect(try sandbox.run("edit", "s.coffer", "9").status == 14)
    #expect(try sandbox.run("edit", "s.coffer", "1", "2").status == 64)
    #expect(try sandbox.run("edit", "s.coffer").status == 64)
    try expectNoTraces(sandbox)
  }

  @Test func removesLineEndAddedByEditor() throws {
    for end in ["\\n", "\\r\\n"] {
      let sandbox = try sandbox("one\r\ntwo")
      sandbox.environment["EDITOR"] = "f() { printf '\(end)' >> \"$1\"; }; f"
      #expect(try sandbox.succeed("edit", "s.coffer", "1").diagnostics == "dbtool: document 1 is unchanged\n")
      try expectNoTraces(sandbox)
    }
  }

  @Test func secondSignalWipesTextOfUnresponsiveEditor() throws {
    let sandbox = try sandbox()
    let child = try editing(
      sandbox, with: #"f() { trap '' HUP TERM; echo yes > running; while :; do :; done; }; f"#)
    child.signal(SIGTERM)
    child.signal(SIGHUP)
    #expect(child.wait() == 130)
    try expectNoTraces(sandbox)
  }

  @Test(arguments: [SIGTERM, SIGHUP])
  func signalEndsEditorAndWipesText(signal: Int32) throws {
    let sandbox = try sandbox()
    let child = try editing(sandbox, with: #"f() { echo yes > running; exec cat running; }; f"#)
    child.signal(signal)
    #expect(child.wait() == 130)
    try expectNoTraces(sandbox)
  }

  /// Hides the in-memory file system by mounting another at /dev/shm, only for this run.
  @Test(.enabled(if: NoMemory.isPossible, "no file system can be hidden here"))
  func usesDiskOnlyOnRequest() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "Sail at dawn.")
    try FileManager.default.createDirectory(atPath: sandbox.path("tmp"), withIntermediateDirectories: false)
    sandbox.environment["TMPDIR"] = sandbox.path("tmp")
    sandbox.environment["EDITOR"] = #"f() { echo "$1" > seen; sed -i s/dawn/dusk/ "$1"; }; f"#
    let before = try sandbox.read("s.coffer")
    let refused = try NoMemory.run(["edit", "s.coffer", "1"], in: sandbox)
    #expect(refused.status == 1)
    #expect(refused.errors.contains("there is no file system in memory to edit on"))
    #expect(refused.errors.contains("hint: 'dbtool edit --on-disk' edits in a temporary file"))
    #expect(try sandbox.read("s.coffer") == before && !sandbox.exists("seen"))

    let edited = try NoMemory.run(["edit", "s.coffer", "1", "--on-disk"], in: sandbox)
    #expect(edited.status == 0, "\(edited.errors)")
    #expect(try sandbox.text(of: "seen").hasPrefix(sandbox.path("tmp") + "/dbtool-"))
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "Sail at dusk.")
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("tmp")).isEmpty)
  }

  /// Starts an edit on a terminal. The editor first writes an invalid text, and then a valid text.
  private func editingAtATerminal(_ sandbox: Sandbox) throws -> (PseudoTerminal, Child) {
    sandbox.environment["EDITOR"] =
      #"f() { if [ -e tried ]; then printf good > "$1"; else : > tried; printf '\377' > "$1"; fi; }; f"#
    let terminal = try PseudoTerminal()
    return (terminal, try Child(["edit", "s.coffer", "1"], in: sandbox, streams: .terminal(terminal.path)))
  }

  @Test func terminalUserCanRetryEdit() throws {
    let sandbox = try sandbox()
    let (terminal, child) = try editingAtATerminal(sandbox)
    #expect(terminal.waitFor("is not UTF-8: nothing was changed; Return edits again, Ctrl-D gives it up"))
    terminal.type("")
    terminal.readToEnd()
    #expect(child.wait() == 0, "\(terminal.shown)")
    #expect(try sandbox.succeed("show", "s.coffer", "1").text == "good")
    try expectNoTraces(sandbox)
  }

  @Test func terminalUserCanAbandonEdit() throws {
    let sandbox = try sandbox()
    let before = try sandbox.read("s.coffer")
    let (terminal, child) = try editingAtATerminal(sandbox)
    #expect(terminal.waitFor("Ctrl-D gives it up"))
    // Ctrl-D at the start of a line ends the input.
    terminal.type("\u{4}")
    terminal.readToEnd()
    #expect(child.wait() == 22, "\(terminal.shown)")
    #expect(try sandbox.read("s.coffer") == before)
    try expectNoTraces(sandbox)
  }

  @Test func signalAtQuestionKeepsText() throws {
    let sandbox = try sandbox()
    let before = try sandbox.read("s.coffer")
    let (terminal, child) = try editingAtATerminal(sandbox)
    #expect(terminal.waitFor("Ctrl-D gives it up"))
    child.signal(SIGTERM)
    terminal.readToEnd()
    #expect(child.wait() == 130, "\(terminal.shown)")
    #expect(try sandbox.read("s.coffer") == before)
    let memory = try #require(sandbox.environment["XDG_RUNTIME_DIR"])
    let folder = try #require(try FileManager.default.contentsOfDirectory(atPath: memory).first)
    #expect(terminal.shown.contains("your text is in \(memory)/\(folder)/document-1.txt"))
    try FileManager.default.removeItem(atPath: "\(memory)/\(folder)")
    try expectNoTraces(sandbox)
  }

  /// Starts dbtool with an editor that reports through a pipe that it is running, and then waits to be ended.
  private func editing(_ sandbox: Sandbox, with editor: String) throws -> Child {
    try #require(mkfifo(sandbox.path("running"), 0o600) == 0)
    sandbox.environment["EDITOR"] = editor
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let child = try Child(
      ["edit", "s.coffer", "1"], in: sandbox,
      streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
    // Opening blocks until the editor opens the pipe, and reading until the editor closes it.
    let running = open(sandbox.path("running"), O_RDONLY | O_CLOEXEC)
    defer { close(running) }
    var answer = [UInt8](repeating: 0, count: 16)
    #expect(read(running, &answer, answer.count) == 4)
    return child
  }

  /// Names and titles are compared by their bytes.
  @Test func keepsHowAccentsAreComposed() throws {
    let sandbox = try Sandbox.withStore()
    let (composed, decomposed) = ("Caf\u{E9}", "Cafe\u{301}")
    try sandbox.succeed(
      "put", "s.coffer", "--text", "x", "--title", decomposed, "--attr", "\(composed)=1", "--attr", "\(decomposed)=2")
    try sandbox.succeed("edit", "s.coffer", "1", "--set-title", composed, "--attr", "state=done")
    let attributes = try sandbox.succeed("query", "s.coffer", "SELECT attributes FROM documents").text
    #expect(attributes.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 3, "\(attributes)")
    let title = try sandbox.succeed("query", "s.coffer", "SELECT title FROM documents").text
    #expect(title.utf8.elementsEqual("\(composed)\n".utf8), "\(title)")
    try sandbox.succeed(
      "import", "s.coffer", "-", "--from", "ndjson", "--keep-ids", "--on-conflict", "update",
      input: #"{"id":1,"text":"x","state":"open"}"#)
    let updated = try sandbox.succeed("query", "s.coffer", "SELECT attributes FROM documents").text
    #expect(updated.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 3 && updated.contains("open"), "\(updated)")
  }

  /// An app couldn't read another text in place of its value.
  @Test func refusesOtherTextInPlaceOfValue() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed(
      "import", "s.coffer", "-", "--from", "ndjson", input: #"{"text":"{\"a\":1}","json":true}"#)
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(["put", "s.coffer", "--id", "1", "--text", "{\"a\":"])
    #expect(result.status == 22 && result.errors.contains("document 1 holds a value"), "\(result.errors)")
    #expect(try sandbox.read("s.coffer") == before)
    try sandbox.succeed("put", "s.coffer", "--id", "1", "--text", #"{"a":2}"#)
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT isJSON, json FROM documents").text.contains(#"1"#))
  }
}
