import Testing

/// Copies of which some don't keep titles.
struct TitlelessCopyTests {
  private func titles(_ sandbox: Sandbox, _ store: String) throws -> [String] {
    try sandbox.succeed("query", store, "SELECT ifnull(title, '-') FROM documents ORDER BY id").lines
  }

  private func sandbox() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "one", "--title", "T1")
    return sandbox
  }

  /// Returns calls that release `s.coffer` in a folder, and update a customer's copy from it.
  private func publishing(_ sandbox: Sandbox) throws -> (
    release: () throws -> Void, update: (_ store: String, _ options: [String]) throws -> Void
  ) {
    let recipient = try sandbox.succeed("keygen", "-y", "identity.key").lines[0]
    try sandbox.write("customers.txt", "anna \(recipient)\n")
    let publisher = try sandbox.succeed("keygen", "-y", "signing.key").lines[0]
    func release() throws {
      try sandbox.succeed("release", "make", "s.coffer", "--signing", "signing.key")
      try sandbox.succeed(
        "release", "publish", "s.coffer", "folder", "--signing", "signing.key", "--customers", "customers.txt")
    }
    func update(_ store: String, _ options: [String]) throws {
      try sandbox.succeed(
        ["update"] + options + [store, "folder", "--customer", "anna", "-k", "identity.key", "--publisher", publisher])
    }
    return (release, update)
  }

  @Test func titlesReturnToStoreThatLeftThemOut() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("copy", "s.coffer", "m.coffer", "--editable", "--titles", "none")
    try sandbox.succeed("rekey", "m.coffer", "--titles", "sealed")
    try sandbox.succeed("edit", "m.coffer", "1", "--attr", "w=1")
    try sandbox.succeed("merge", "s.coffer", "m.coffer")
    #expect(try titles(sandbox, "s.coffer") == ["T1"])
    try sandbox.succeed("edit", "s.coffer", "1", "--attr", "w=2")
    try sandbox.succeed("merge", "m.coffer", "s.coffer")
    #expect(try titles(sandbox, "m.coffer") == ["T1"])
    try sandbox.succeed("diff", "s.coffer", "m.coffer")
  }

  @Test func titlePassesStoreWithoutTitles() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("copy", "s.coffer", "b.coffer", "--editable", "--titles", "none")
    try sandbox.succeed("copy", "s.coffer", "c.coffer", "--editable")
    try sandbox.succeed("put", "s.coffer", "--text", "new", "--title", "T2")
    try sandbox.succeed("merge", "b.coffer", "s.coffer")
    try sandbox.succeed("merge", "c.coffer", "b.coffer")
    #expect(try titles(sandbox, "c.coffer") == ["T1", "-"])
    try sandbox.succeed("edit", "s.coffer", "2", "--attr", "a=1")
    try sandbox.succeed("merge", "c.coffer", "s.coffer")
    #expect(try titles(sandbox, "c.coffer") == ["T1", "T2"])
    try sandbox.succeed("merge", "s.coffer", "c.coffer")
    #expect(try titles(sandbox, "s.coffer") == ["T1", "T2"])
  }

  @Test func textChangedWithoutTitlesLeavesTitle() throws {
    let sandbox = try sandbox()
    try sandbox.succeed("copy", "s.coffer", "b.coffer", "--editable", "--titles", "none")
    try sandbox.succeed("put", "b.coffer", "--id", "1", "--text", "changed")
    try sandbox.succeed("merge", "s.coffer", "b.coffer")
    #expect(try titles(sandbox, "s.coffer") == ["T1"])
    #expect(try sandbox.succeed("query", "s.coffer", "SELECT text FROM documents").lines == ["changed"])
  }

  /// A publisher that no longer keeps titles leaves those of its customers.
  @Test func updateWithoutTitlesLeavesTitles() throws {
    let sandbox = try sandbox()
    let (release, update) = try publishing(sandbox)
    try release()
    try update("c.coffer", ["--create"])
    try sandbox.succeed("rekey", "s.coffer", "--titles", "none")
    try sandbox.succeed("put", "s.coffer", "--id", "1", "--text", "changed")
    try release()
    try update("c.coffer", [])
    let values = "SELECT title, text FROM documents"
    #expect(try sandbox.succeed("query", "c.coffer", values, "-k", "identity.key").lines == ["T1\tchanged"])
  }

  /// A deleted document returns with its attachments to customers who deleted it.
  @Test func updateBringsContentsOfReturnedDocument() throws {
    let sandbox = try sandbox()
    let (release, update) = try publishing(sandbox)
    // Large enough that the folder keeps files of differences.
    try sandbox.write("big.bin", bytes: (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
    try sandbox.write("file.txt", "attached")
    try sandbox.succeed("put", "s.coffer", "--text", "other")
    try sandbox.succeed("attachment", "add", "s.coffer", "1", "file.txt")
    try sandbox.succeed("attachment", "add", "s.coffer", "2", "big.bin")
    try release()
    try update("c1.coffer", ["--create"])
    try update("c2.coffer", ["--create"])
    try sandbox.succeed("put", "c1.coffer", "--id", "1", "--text", "edited", "-k", "identity.key")
    try sandbox.succeed("rm", "s.coffer", "1")
    try release()
    try update("c2.coffer", [])
    try sandbox.succeed(
      "merge", "s.coffer", "c1.coffer", "--prefer", "both", "-k", "primary.key", "-k", "identity.key")
    try release()
    try update("c2.coffer", [])
    try update("c3.coffer", ["--create"])
    for store in ["c2.coffer", "c3.coffer"] {
      let content = try sandbox.succeed(
        "show", store, "1", "--attachment", "file.txt", "-k", "identity.key"
      ).text
      #expect(content == "attached")
    }
  }
}
