import CofferTestSupport
import Foundation
import Testing

/// Runs `notes`, the note-taking app in `Examples`, as a process.
@Suite struct NotesTests {
  private func notebook() throws -> Workshop {
    let workshop = try Workshop("notes")
    try workshop.makeKey("my.key")
    try workshop.succeed("add", "Plans", "--key-file", "my.key", input: "Sail at dawn.\n")
    try workshop.succeed("add", "--key-file", "my.key", input: "Call the pilot\nbefore the dawn tide.\n")
    return workshop
  }

  private func titles(_ workshop: Workshop) throws -> [String] {
    try workshop.succeed("list", "--key-file", "my.key").lines.map {
      String($0.split(separator: "\t").last ?? "")
    }
  }

  @Test func addsListsEditsAndDeletesNotes() throws {
    let workshop = try notebook()
    #expect(try titles(workshop) == ["Call the pilot", "Plans"])
    #expect(try workshop.succeed("show", "1", "--key-file", "my.key").text == "Sail at dawn.\n")
    try workshop.succeed("edit", "2", "--key-file", "my.key", input: "Pay the pilot.")
    #expect(try titles(workshop) == ["Pay the pilot.", "Plans"])
    #expect(try workshop.succeed("show", "2", "--key-file", "my.key").text == "Pay the pilot.\n")
    try workshop.succeed("delete", "1", "2", "--key-file", "my.key")
    #expect(try workshop.succeed("list", "--key-file", "my.key").text.isEmpty)
  }

  @Test func keepsPicturesOfNotes() throws {
    let workshop = try notebook()
    let deck = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 7) })
    try deck.write(to: workshop.url("deck.jpeg"))
    try workshop.write("sea.png", "no plain picture")
    try workshop.succeed("attach", "1", "deck.jpeg", "sea.png", "--key-file", "my.key")
    #expect(
      try workshop.succeed("pictures", "1", "--key-file", "my.key").lines
        == ["deck.jpeg\timage/jpeg\t200000", "sea.png\timage/png\t16"])
    try workshop.succeed("save", "1", "deck.jpeg", "copy.jpeg", "--key-file", "my.key")
    #expect(try workshop.read("copy.jpeg") == deck)
    #expect(try !workshop.holds("notes.coffer", "no plain picture"))
    #expect(try workshop.run("attach", "2", "sea.png", "none.png", "--key-file", "my.key").status == 1)
    #expect(try workshop.succeed("pictures", "2", "--key-file", "my.key").text.isEmpty)
    let missing = try workshop.run("save", "2", "sea.png", "none.png", "--key-file", "my.key")
    #expect(missing.errors == "notes: note 2 has no picture sea.png\n" && !workshop.exists("none.png"))
    try workshop.succeed("delete", "1", "--key-file", "my.key")
    #expect(try workshop.run("pictures", "1", "--key-file", "my.key").status == 1)
  }

  @Test func deletesNotesAtomically() throws {
    let workshop = try notebook()
    let before = try workshop.read("notes.coffer")
    let result = try workshop.run("delete", "1", "9", "--key-file", "my.key")
    #expect(result.status == 1 && result.errors == "notes: there is no document 9\n")
    #expect(try workshop.read("notes.coffer") == before)
  }

  @Test func findMarksMatches() throws {
    let workshop = try notebook()
    let found = try workshop.succeed("find", "dawn", "--key-file", "my.key")
    #expect(found.text.contains("1\tPlans\n\tSail at [dawn]."))
    #expect(found.text.contains("before the [dawn] tide."))
    try workshop.succeed("edit", "1", "--key-file", "my.key", input: "Sail at noon.")
    let later = try workshop.succeed("find", "dawn", "--key-file", "my.key")
    #expect(!later.text.contains("Plans") && later.text.contains("[dawn]"))
    #expect(try workshop.run("find", "harbour", "--key-file", "my.key").status == 1)
    let wrong = try workshop.run("find", "\"open", "--key-file", "my.key")
    #expect(wrong.status == 1 && wrong.errors.contains("a quotation has no end at character 1"))
  }

  @Test func syncsTwoDevices() throws {
    let workshop = try notebook()
    let laptop = ["--key-file", "my.key"]
    let phone = laptop + ["--store", "phone.coffer"]
    func sync(_ device: [String], _ more: String...) throws -> String {
      try workshop.run(["sync", "carried", "--once"] + more + device, input: Data()).text
    }
    #expect(try sync(laptop, "--begin", "--device", "laptop") == "published 0, took 0\n")
    #expect(try sync(phone, "--join", "--device", "phone") == "published 0, took 0\n")
    let added = try workshop.run(["add", "Crew"] + phone, input: Data("Ada and Ben.".utf8))
    #expect(added.status == 0)
    #expect(try sync(phone) == "published 1, took 0\n")
    #expect(try sync(laptop) == "published 0, took 1\n")
    #expect(try titles(workshop) == ["Crew", "Call the pilot", "Plans"])
    #expect(try workshop.run(["find", "Ada"] + phone, input: Data()).text.contains("[Ada]"))
  }

  @Test func movesAndSortsNotes() throws {
    let workshop = try notebook()
    try workshop.succeed("add", "Anchor", "--key-file", "my.key", input: "Buy one.")
    try workshop.succeed("move", "3", "bottom", "--key-file", "my.key")
    #expect(try titles(workshop) == ["Call the pilot", "Plans", "Anchor"])
    try workshop.succeed("move", "1", "before", "2", "--key-file", "my.key")
    #expect(try titles(workshop) == ["Plans", "Call the pilot", "Anchor"])
    try workshop.succeed("sort", "title", "--key-file", "my.key")
    #expect(try titles(workshop) == ["Anchor", "Call the pilot", "Plans"])
    try workshop.succeed("sort", "title", "--descending", "--key-file", "my.key")
    #expect(try titles(workshop) == ["Plans", "Call the pilot", "Anchor"])
    #expect(try workshop.run("move", "1", "sideways", "--key-file", "my.key").status == 64)
  }

  @Test func encryptsStoredNotes() throws {
    let workshop = try notebook()
    for text in ["Sail at dawn", "Plans", "Call the pilot"] {
      #expect(try !workshop.holds("notes.coffer", text))
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path).sorted() == [
        "my.key", "notes.coffer",
      ])
  }

  @Test func rejectsWrongKeyWithHint() throws {
    let workshop = try notebook()
    try workshop.makeKey("other.key")
    let before = try workshop.read("notes.coffer")
    let result = try workshop.run("list", "--key-file", "other.key")
    #expect(result.status == 1 && result.text.isEmpty)
    #expect(result.errors == "notes: no slot opens with this key; dbtool info lists the slots\n")
    #expect(try workshop.read("notes.coffer") == before)
  }

  @Test func malformedInputLeavesStoreUnchanged() throws {
    let workshop = try notebook()
    let before = try workshop.read("notes.coffer")
    let bytes = try workshop.run(["edit", "1", "--key-file", "my.key"], input: Data([0x61, 0xFF]))
    #expect(bytes.status == 1 && bytes.errors == "notes: standard input is no UTF-8\n")
    let empty = try workshop.run("add", "Empty", "--key-file", "my.key")
    #expect(empty.status == 1 && empty.errors == "notes: standard input is empty\n")
    let word = try workshop.run("show", "first", "--key-file", "my.key")
    #expect(word.status == 64 && word.errors.contains("a note is named by its number"))
    #expect(try workshop.read("notes.coffer") == before)
  }

  @Test func watchPrintsChangesOfOtherProcesses() throws {
    let workshop = try notebook()
    let watch = try workshop.start("watch", "--key-file", "my.key")
    defer { watch.end(by: SIGKILL) }
    #expect(watch.line() == "watching (notes: 2)")
    try workshop.succeed("add", "Crew", "--key-file", "my.key", input: "Two hands.")
    let added = try #require(watch.line())
    #expect(added.hasPrefix("added    3\t") && added.hasSuffix("\tCrew"))
    try workshop.succeed("edit", "3", "--key-file", "my.key", input: "Three hands.")
    #expect(try #require(watch.line()).hasPrefix("changed  3\t"))
    try workshop.succeed("move", "3", "bottom", "--key-file", "my.key")
    #expect(try #require(watch.line()).hasPrefix("moved    3\t"))
    try workshop.succeed("delete", "1", "--key-file", "my.key")
    #expect(try #require(watch.line()).hasPrefix("deleted  1\t"))
  }

  @Test func killingProcessLeavesNotesUnchanged() throws {
    let workshop = try notebook()
    let before = try workshop.read("notes.coffer")
    let watch = try workshop.start("watch", "--key-file", "my.key")
    #expect(watch.line() != nil)
    watch.end(by: SIGKILL)
    #expect(try workshop.read("notes.coffer") == before)
    #expect(try titles(workshop) == ["Call the pilot", "Plans"])
  }

  // MARK: Passphrases

  /// Types answers at a terminal.
  ///
  /// - Returns: The exit status and the terminal's entire output.
  private func type(
    _ answers: [(question: String, answer: String)], _ words: [String], in workshop: Workshop
  ) throws -> (status: Int32, shown: String) {
    let terminal = try PseudoTerminal()
    // Start a session with this controlling terminal.
    let process = workshop.process(words, under: ["setsid", "--ctty", "--wait"])
    let device = try #require(FileHandle(forUpdatingAtPath: terminal.path))
    (process.standardInput, process.standardOutput, process.standardError) = (device, device, device)
    try process.run()
    try device.close()
    for (question, answer) in answers {
      guard terminal.waitFor(question) else { break }
      #expect(!terminal.echoes)
      terminal.type(answer, end: "")
    }
    terminal.readToEnd()
    process.waitUntilExit()
    return (process.terminationStatus, terminal.shown)
  }

  @Test func readsPassphraseWithoutEcho() throws {
    let workshop = try Workshop("notes")
    let made = try type(
      [("New passphrase: ", "blue harbour\n"), ("The same again: ", "blue harbour\n")], ["list"], in: workshop)
    #expect(made.status == 0 && !made.shown.contains("blue"))
    let opened = try type([("Passphrase: ", "blue harbour\n")], ["list"], in: workshop)
    #expect(opened.status == 0 && !opened.shown.contains("blue"))
    let wrong = try type([("Passphrase: ", "red harbour\n")], ["list"], in: workshop)
    #expect(wrong.status == 1 && wrong.shown.contains("no slot opens with this key"))
    #expect(!wrong.shown.contains("red"))
  }

  @Test func rejectsDifferentPassphrases() throws {
    let workshop = try Workshop("notes")
    let result = try type(
      [("New passphrase: ", "blue harbour\n"), ("The same again: ", "blue harbor\n")], ["list"], in: workshop)
    #expect(result.status == 1 && result.shown.contains("the two passphrases differ"))
    #expect(!workshop.exists("notes.coffer"))
  }

  @Test func controlCCancelsPrompt() throws {
    let workshop = try Workshop("notes")
    let result = try type([("New passphrase: ", "blue\u{3}")], ["list"], in: workshop)
    #expect(result.status == 1 && result.shown.contains("no passphrase was typed"))
    #expect(!result.shown.contains("blue") && !workshop.exists("notes.coffer"))
  }

  @Test func suggestsKeyFileWithoutTerminal() throws {
    let workshop = try Workshop("notes")
    let process = workshop.process(["list"], under: ["setsid", "--wait"])
    let errors = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    process.waitUntilExit()
    let text = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
    #expect(text == "notes: a passphrase is needed, and there is no terminal to ask on; give a --key-file\n")
  }
}
