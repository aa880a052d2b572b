import CofferPlatform
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests `sync`, with a folder that both devices see.
@Suite struct FolderSyncVerbTests {
  private func twoDevices() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--title", "Plans", "--text", "Sail at dawn")
    try sandbox.succeed("sync", "init", "s.coffer", "carried", "--name", "laptop")
    try sandbox.succeed("sync", "join", "phone.coffer", "carried", "--name", "phone")
    return sandbox
  }

  @Test func noteJoinsFolderWithDash() throws {
    let sandbox = try Sandbox.withStore()
    let made = try sandbox.succeed("sync", "init", "s.coffer", "--", "-carried")
    let line = try #require(made.errors.firstMatch(of: /dbtool (sync join [^,]+), with the key/), "\(made.errors)")
    sandbox.environment["DBTOOL_STORE"] = "s.coffer"
    try sandbox.succeed(line.1.replacing("NEW", with: "n.coffer").split(separator: " ").map(String.init))
    #expect(sandbox.exists("n.coffer"))
  }

  @Test func devicesExchangeChanges() throws {
    let sandbox = try twoDevices()
    try sandbox.succeed("put", "phone.coffer", "--text", "from the phone")
    try sandbox.succeed("put", "s.coffer", "--text", "from the laptop")
    let published = try sandbox.succeed("sync", "run", "phone.coffer", "carried", "--json").text
    #expect(published.contains(#""published":1"#), "\(published)")
    let taken = try sandbox.succeed("sync", "run", "s.coffer", "carried", "--json").text
    #expect(taken.contains(#""published":1"#) && taken.contains(#""changes":1"#), "\(taken)")
    try sandbox.succeed("sync", "run", "phone.coffer", "carried")
    try sandbox.succeed("diff", "s.coffer", "phone.coffer")
    let status = try sandbox.succeed("sync", "status", "phone.coffer", "carried", "--format", "csv").lines
    #expect(status.map { $0.split(separator: ",")[1] } == ["name", "phone", "laptop"])
    #expect(status.map { $0.split(separator: ",")[2] } == ["this", "true", "false"])
  }

  @Test func countsDocumentsOfRestoredDevice() throws {
    let sandbox = try twoDevices()
    try sandbox.succeed("backup", "phone.coffer", "b.coffer")
    try sandbox.succeed("restore", "phone.coffer", "b.coffer", "--force")
    for number in 1...3 { try sandbox.succeed("put", "phone.coffer", "--text", "text \(number)") }
    let published = try sandbox.succeed("sync", "run", "phone.coffer", "carried", "--json").text
    #expect(published.contains(#""published":3"#), "\(published)")
    try sandbox.succeed("sync", "run", "s.coffer", "carried")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.count == 4)
  }

  @Test func hintNamesNewestInvitation() throws {
    let sandbox = try twoDevices()
    try sandbox.succeed("sync", "remove", "s.coffer", "carried", "phone", "--new-key-file", "next.key")
    let joined = try sandbox.run("sync", "join", "n.coffer", "carried")
    #expect(joined.status == 12)
    #expect(joined.errors.contains("hint: give a key of the newest invitation, which "), "\(joined.errors)")
    try sandbox.succeed("sync", "join", "n.coffer", "carried", "--key-file", "next.key")
  }

  @Test func watchingTakesEachPublishedChange() throws {
    let sandbox = try twoDevices()
    let (child, output) = try sandbox.start(
      ["sync", "run", "s.coffer", "carried", "--watch", "--every", "0.05", "--json"])
    defer {
      child.signal(SIGKILL)
      close(output)
    }
    var printed = ""
    var bytes = [UInt8](repeating: 0, count: 4096)
    for text in ["first", "second"] {
      try sandbox.succeed("put", "phone.coffer", "--text", text)
      try sandbox.succeed("sync", "run", "phone.coffer", "carried")
      // The report of a run comes after its changes were committed.
      printed = ""
      while !printed.contains(#""changes":1"#) {
        let count = read(output, &bytes, bytes.count)
        try #require(count > 0, "it ended after \(printed)")
        printed += String(decoding: bytes[..<count], as: UTF8.self)
      }
      #expect(try sandbox.succeed("show", "s.coffer", text).text == text)
    }
    child.signal(SIGINT)
    #expect(child.wait() == 0)
  }

  @Test func watchingGoesOnAfterLock() throws {
    let sandbox = try twoDevices()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let child = try Child(
      ["sync", "run", "s.coffer", "carried", "--watch", "--every", "0.05", "--wait", "0", "--json"], in: sandbox,
      streams: .descriptors(input: nil, output: ends[1], errors: ends[1]))
    close(ends[1])
    defer {
      child.signal(SIGKILL)
      close(ends[0])
    }
    func awaitText(_ text: String) throws {
      var printed = ""
      var bytes = [UInt8](repeating: 0, count: 4096)
      while !printed.contains(text) {
        let count = read(ends[0], &bytes, bytes.count)
        try #require(count > 0, "it ended after \(printed)")
        printed += String(decoding: bytes[..<count], as: UTF8.self)
      }
    }
    try awaitText(#""published":"#)
    let holder = try Database(sandbox.path("s.coffer"), mode: .readWrite)
    waitUntil { (try? holder.execute("BEGIN IMMEDIATE")) != nil }
    try sandbox.succeed("put", "phone.coffer", "--text", "from the phone")
    try sandbox.succeed("sync", "run", "phone.coffer", "carried")
    try awaitText("locked")
    try holder.execute("ROLLBACK")
    try awaitText(#""changes":1"#)
    child.signal(SIGINT)
    #expect(child.wait() == 0)
  }

  @Test func statusNamesTextsThatChangedOnBoth() throws {
    let sandbox = try twoDevices()
    for store in ["s.coffer", "phone.coffer"] {
      try sandbox.succeed("put", store, "--id", "1", "--text", "of \(store)")
    }
    try sandbox.succeed("sync", "run", "phone.coffer", "carried")
    let run = try sandbox.succeed("sync", "run", "s.coffer", "carried")
    #expect(run.errors.contains("1 text changed on two devices at once: 'dbtool sync status' lists both versions"))
    try sandbox.succeed("sync", "run", "phone.coffer", "carried")
    for store in ["s.coffer", "phone.coffer"] {
      let status = try sandbox.succeed("sync", "status", store, "carried")
      #expect(status.errors.contains("document 2 is another version of document 1"), "\(status.errors)")
      #expect(try sandbox.succeed("show", store, "1", "2").text.contains("of phone.coffer"))
    }
    try sandbox.succeed("rm", "s.coffer", "2")
    #expect(!(try sandbox.succeed("sync", "status", "s.coffer", "carried").errors.contains("another version")))
  }

  @Test func problemsSetExitCode() throws {
    let sandbox = try twoDevices()
    let before = try files(sandbox)
    try sandbox.succeed("put", "s.coffer", "--text", "one")
    try sandbox.succeed("sync", "run", "s.coffer", "carried")
    let name = try #require(try files(sandbox).first { !before.contains($0) })
    let whole = try sandbox.read(name)
    try sandbox.remove(name)
    try sandbox.write(name, bytes: whole.dropLast() + [whole.last! ^ 1])
    for quiet in [[], ["--quiet"]] {
      let run = try sandbox.run(["sync", "run", "phone.coffer", "carried"] + quiet)
      #expect(run.status == 3 && run.errors.contains(name) && run.errors.contains("(laptop)"), "\(run.errors)")
    }
    try sandbox.remove(name)
    try sandbox.write(name, bytes: whole)
    try sandbox.succeed("sync", "run", "phone.coffer", "carried")
    #expect(try sandbox.succeed("show", "phone.coffer", "one").text.hasPrefix("one"))
    try sandbox.remove(name)
    for quiet in [[], ["--quiet"]] {
      let status = try sandbox.run(["sync", "status", "phone.coffer", "carried"] + quiet)
      #expect(status.status == 4 && status.errors.contains("is gone"), "\(status.errors)")
    }
  }

  private func files(_ sandbox: Sandbox) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: sandbox.path("carried")).filter { $0.contains("/") }.map {
      "carried/\($0)"
    }
  }

  @Test func titlesStayAsOnOtherDevices() throws {
    let sandbox = try twoDevices()
    let result = try sandbox.run("rekey", "s.coffer", "--titles", "none")
    #expect(result.status == 64 && result.errors.contains("dbtool sync leave"), "\(result.errors)")
    try sandbox.succeed("rekey", "s.coffer", "--titles", "clear")
    try sandbox.succeed("mv", "s.coffer", "1", "--to", "top")
    try sandbox.succeed("sync", "run", "s.coffer", "carried")
    try sandbox.succeed("sync", "run", "phone.coffer", "carried")
    try sandbox.succeed("diff", "s.coffer", "phone.coffer")
  }

  @Test func folderWithoutKnownFilesIsRefused() throws {
    let sandbox = try twoDevices()
    try FileManager.default.createDirectory(atPath: sandbox.path("empty"), withIntermediateDirectories: false)
    for verb in ["run", "status"] {
      let result = try sandbox.run("sync", verb, "s.coffer", "empty")
      #expect(result.status == 10 && result.errors.contains("dbtool sync run --empty"), "\(result.errors)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("empty")).isEmpty)
    let again = try sandbox.run("sync", "run", "s.coffer", "empty", "--empty")
    #expect(again.status == 3, "\(again.errors)")
    try sandbox.succeed("sync", "status", "s.coffer", "empty")
  }

  @Test func removedDeviceIsTold() throws {
    let sandbox = try twoDevices()
    let wrong = try sandbox.run("sync", "remove", "s.coffer", "carried", "tablet", "--new-key-file", "next.key")
    #expect(wrong.status == 1 && wrong.errors.contains("dbtool sync status"), "\(wrong.errors)")
    try sandbox.succeed("sync", "remove", "s.coffer", "carried", "phone", "--new-key-file", "next.key")
    try sandbox.succeed("put", "phone.coffer", "--text", "too late")
    #expect(try sandbox.run("sync", "run", "phone.coffer", "carried").status != 0)
    try sandbox.succeed("sync", "run", "s.coffer", "carried")
    #expect(!(try sandbox.succeed("export", "s.coffer").text.contains("too late")))
    #expect(try sandbox.run("sync", "join", "again.coffer", "carried").status == 12)
    let joined = try sandbox.run("sync", "join", "tablet.coffer", "carried", "--key-file", "next.key")
    #expect(joined.status == 0, "\(joined.errors)")
  }

  @Test func removesByIDThatIsAnothersName() throws {
    let sandbox = try twoDevices()
    func devices() throws -> [[Substring]] {
      try sandbox.succeed("sync", "status", "s.coffer", "carried", "--format", "csv").lines.map {
        $0.split(separator: ",")
      }
    }
    try sandbox.succeed("sync", "run", "s.coffer", "carried")
    let id = String(try #require(try devices().first { $0[1] == "phone" })[0])
    try sandbox.succeed("sync", "join", "other.coffer", "carried", "--name", id)
    try sandbox.succeed("sync", "remove", "s.coffer", "carried", id, "--new-key-file", "next.key")
    #expect(try devices().filter { $0.last == "true" }.map { $0[1] } == ["phone"])
  }

  @Test func inviteReplacesLostInvitation() throws {
    let sandbox = try twoDevices()
    try sandbox.remove("carried")
    try FileManager.default.createDirectory(atPath: sandbox.path("carried"), withIntermediateDirectories: false)
    #expect(try sandbox.run("sync", "run", "s.coffer", "carried", "--empty").status == 3)
    let refused = try sandbox.run("sync", "join", "third.coffer", "carried")
    #expect(refused.status == 10 && refused.errors.contains("dbtool sync invite"), "\(refused.errors)")
    let pin = try sandbox.succeed("sync", "invite", "s.coffer", "carried", "--new-key-file", "next.key", "--json")
    #expect(pin.text.contains(#""pin":"coffer-pin-3-"#), "\(pin.text)")
    try sandbox.succeed("sync", "join", "third.coffer", "carried", "--key-file", "next.key")
    #expect(try sandbox.succeed("ls", "third.coffer", "--key-file", "next.key").lines.count == 1)
    #expect(try sandbox.run("sync", "invite", "s.coffer", "none", "--new-key-file", "next.key").status == 10)
  }

  @Test func rekeySaysThatFolderKeepsItsKeys() throws {
    let sandbox = try twoDevices()
    let result = try sandbox.succeed("rekey", "s.coffer", "--new-key-file", "next.key")
    #expect(result.errors.contains("'sync init' with a new folder"), "\(result.errors)")
    try sandbox.succeed("sync", "leave", "s.coffer", "--key-file", "next.key")
    try sandbox.succeed("sync", "init", "s.coffer", "elsewhere", "--name", "laptop", "--key-file", "next.key")
  }

  @Test func refusalsSayWhatToDo() throws {
    let sandbox = try twoDevices()
    func expect(_ status: Int32, _ text: String, _ words: String...) throws {
      let result = try sandbox.run(words)
      #expect(result.status == status && result.errors.contains(text), "\(words): \(result.status) \(result.errors)")
    }
    try sandbox.succeed("create", "other.coffer")
    try expect(1, "isn't empty", "sync", "init", "other.coffer", "carried")
    try expect(64, "dbtool sync init", "sync", "run", "other.coffer", "carried")
    try expect(64, "dbtool sync init", "sync", "status", "other.coffer", "carried")
    try expect(64, "syncs", "sync", "init", "s.coffer", "elsewhere")
    try expect(64, "dbtool sync invite", "sync", "init", "s.coffer", "carried")
    try expect(1, "phone.coffer", "sync", "join", "phone.coffer", "carried")
    try expect(10, "gone", "sync", "run", "s.coffer", "missing")
    try expect(10, "invitation", "sync", "join", "new.coffer", "missing")
    try expect(64, "--every", "sync", "run", "s.coffer", "carried", "--every", "3")
    #expect(!sandbox.exists("new.coffer"))
    try sandbox.succeed("sync", "leave", "s.coffer")
    try expect(64, "dbtool sync init", "sync", "run", "s.coffer", "carried")
    try sandbox.succeed("verify", "s.coffer")
  }
}
