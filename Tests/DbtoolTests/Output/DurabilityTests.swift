import Foundation
import Testing

/// Tests output files on a disk with failing calls.
@Suite(.enabled(if: FailedSync.isPossible, "strace can't run here")) struct DurabilityTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--title", "a", "--text", "one")
    return sandbox
  }

  private static let unconfirmed = "is in place, but the disk did not confirm its name: "

  @Test func failedSyncLeavesNoExport() throws {
    let sandbox = try filled()
    let result = try FailedSync.run("export", "s.coffer", "-o", "out.ndjson", at: 1, in: sandbox)
    #expect(result.status == 1)
    #expect(try sandbox.names().allSatisfy { !$0.hasPrefix("out") && !$0.hasPrefix(".dbtool") })
  }

  @Test func reportsUnconfirmedFileName() throws {
    let sandbox = try filled()
    let result = try FailedSync.run("export", "s.coffer", "-o", "out.ndjson", "--json", at: 2, in: sandbox)
    #expect(result.status == 1)
    #expect(result.errors.contains("out.ndjson \(Self.unconfirmed)"))
    #expect(result.errors.contains(#""kind":"io-failure""#))
    #expect(try sandbox.text(of: "out.ndjson").contains("one"))
  }

  @Test func acceptsFolderWithoutSyncSupport() throws {
    let sandbox = try filled()
    let result = try FailedSync.run("export", "s.coffer", "-o", "out.ndjson", at: 2, with: "EINVAL", in: sandbox)
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test func reportsUnconfirmedBackupName() throws {
    let sandbox = try filled()
    let result = try FailedSync.run("backup", "s.coffer", "copy.coffer", at: 2, in: sandbox)
    #expect(result.status == 1)
    #expect(result.errors.contains("copy.coffer \(Self.unconfirmed)"))
    try sandbox.succeed("verify", "copy.coffer")
  }

  @Test func reportsUnconfirmedKeyFileName() throws {
    let sandbox = try Sandbox()
    let result = try FailedSync.run("keygen", "new.key", at: 2, in: sandbox)
    #expect(result.status == 1)
    #expect(result.errors.contains("new.key \(Self.unconfirmed)"))
    #expect(sandbox.exists("new.key"))
  }

  @Test func failedSyncKeepsEarlierTexts() throws {
    let sandbox = try filled()
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    try sandbox.succeed("put", "s.coffer", "--title", "b", "--text", "two")
    let result = try FailedSync.run(
      "export", "s.coffer", "--to", "text", "-o", "out", "--force", failing: "syncfs", at: 1, in: sandbox)
    #expect(result.status == 1)
    #expect(try sandbox.text(of: "out/a.txt") == "one")
    #expect(!sandbox.exists("out/b.txt"))
    #expect(try sandbox.names().allSatisfy { !$0.hasPrefix(".dbtool") })
  }

  @Test func reportsRestOfReplacedTexts() throws {
    let sandbox = try filled()
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    let result = try FailedSync.run(
      "export", "s.coffer", "--to", "text", "-o", "out", "--force", failing: "unlinkat", at: 1, fromThenOn: true,
      with: "EACCES", in: sandbox)
    #expect(result.status == 0, "\(result.errors)")
    let rest = try #require(try sandbox.names().first { $0.hasPrefix(".dbtool") })
    #expect(
      result.errors.contains(
        "warning: \(rest) is what was replaced, and isn't encrypted: if none of it is needed, chmod -R u+rwx \(rest) && rm -r \(rest)\n"
      ),
      "\(result.errors)")
  }

  @Test func reportsUnconfirmedTextFolderName() throws {
    let sandbox = try filled()
    let result = try FailedSync.run("export", "s.coffer", "--to", "text", "-o", "out", at: 1, in: sandbox)
    #expect(result.status == 1)
    #expect(result.errors.contains("out \(Self.unconfirmed)"))
    #expect(try sandbox.text(of: "out/a.txt") == "one")
  }
}
