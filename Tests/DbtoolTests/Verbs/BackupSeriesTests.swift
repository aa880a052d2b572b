import CofferPlatform
import Foundation
import Testing

/// Tests `backup --keep`: names with times, and which copies are deleted.
@Suite struct BackupSeriesTests {
  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "one")
    try FileManager.default.createDirectory(atPath: sandbox.path("b"), withIntermediateDirectories: false)
    return sandbox
  }

  /// Returns the stamp of a time so many seconds from now.
  private func stamp(_ seconds: Int) -> String {
    var (moment, parts) = (time(nil) + seconds, tm())
    gmtime_r(&moment, &parts)
    return String(
      format: "%04d%02d%02dT%02d%02d%02dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
      parts.tm_min, parts.tm_sec)
  }

  private func copies(in sandbox: Sandbox) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("b")))
  }

  @Test func numbersCopiesOfOneSecond() throws {
    let sandbox = try filled()
    // Takes the names of the next seconds.
    for second in 0..<30 { try sandbox.write("b/s-\(stamp(second)).coffer", "taken") }
    let path = try sandbox.succeed("backup", "s.coffer", "b", "--keep", "1", "--json").text
    #expect(path.contains(#"Z-2.coffer""#), "\(path)")
    #expect(try copies(in: sandbox).count == 31)
  }

  /// Other programs can make files of any name.
  @Test func ignoresHugeNumbers() throws {
    let sandbox = try filled()
    for second in 0..<30 { try sandbox.write("b/s-\(stamp(second))-\(Int.max).coffer", "") }
    let path = try sandbox.succeed("backup", "s.coffer", "b", "--keep", "1", "--json").text
    #expect(path.contains(#"Z.coffer""#), "\(path)")
    #expect(try copies(in: sandbox).count == 31)
  }

  @Test func concurrentBackupsGetTheirOwnNames() throws {
    let sandbox = try filled()
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nowhere) }
    let children = try (0..<3).map { _ in
      try Child(
        ["backup", "s.coffer", "b/", "--keep", "3"], in: sandbox,
        streams: .descriptors(input: nowhere, output: nowhere, errors: nowhere))
    }
    for child in children { #expect(child.wait() == 0) }
    #expect(try copies(in: sandbox).count == 3)
    for name in try copies(in: sandbox) { try sandbox.succeed("verify", "--keyless", "b/\(name)") }
  }

  @Test func deletesInOrderOfTimeAndNumber() throws {
    let sandbox = try filled()
    let store = try sandbox.read("s.coffer")
    for name in ["", "-2", "-3", "-10"] { try sandbox.write("b/s-20010102T030405Z\(name).coffer", bytes: store) }
    struct Answer: Decodable { let removed: [String] }
    let answer = try sandbox.succeed("backup", "s.coffer", "b", "--keep", "3", "--json").json(Answer.self)
    #expect(answer.removed == ["b/s-20010102T030405Z.coffer", "b/s-20010102T030405Z-2.coffer"])
  }

  @Test func keepsRealCopiesBesideFutureOnes() throws {
    let sandbox = try filled()
    let store = try sandbox.read("s.coffer")
    let future = ["s-\(stamp(3600)).coffer", "s-20990101T000000Z.coffer", "s-99991231T235959Z-2.coffer"]
    for name in future + ["s-20010102T030405Z.coffer"] { try sandbox.write("b/\(name)", bytes: store) }
    for keep in [2, 1] {
      let result = try sandbox.succeed("backup", "s.coffer", "b", "--keep", "\(keep)")
      for name in future {
        #expect(result.diagnostics.contains("warning: b/\(name) is dated in the future: it stays, and is not counted"))
      }
      let real = try copies(in: sandbox).subtracting(future)
      #expect(real.count == keep && real.contains("s-20010102T030405Z.coffer") == (keep == 2))
    }
    #expect(try copies(in: sandbox).isSuperset(of: future))
  }

  @Test func leavesFilesThatOnlyLookLikeCopies() throws {
    let sandbox = try filled()
    let store = try sandbox.read("s.coffer")
    try sandbox.succeed("create", "other.coffer", "--test")
    let names = [
      "s-20011302T030405Z.coffer", "s-20010230T030405Z.coffer", "s-20010102T250405Z.coffer",
      "s-20010102T030405Z-0.coffer", "s-20010102T030405Z-1.coffer", "s-20010102T030405Z-x.coffer",
      "s-20010102T030405Z--2.coffer", "s-20010102T030405Z-02.coffer", "s-20010102t030405z.coffer",
      "S-20010102T030405Z.coffer", "t-20010102T030405Z.coffer", "s-20010102T030405Z.coffer.replaced",
    ]
    for name in names { try sandbox.write("b/\(name)", bytes: store) }
    try sandbox.write("b/s-20010103T000000Z.coffer", bytes: sandbox.read("other.coffer"))
    #expect(symlink("../s.coffer", sandbox.path("b/s-20010104T000000Z.coffer")) == 0)
    try FileManager.default.createDirectory(
      atPath: sandbox.path("b/s-20010105T000000Z.coffer"), withIntermediateDirectories: false)
    let before = try copies(in: sandbox)
    struct Answer: Decodable {
      let path: String
      let removed: [String]
    }
    let answer = try sandbox.succeed("backup", "s.coffer", "b", "--keep", "1", "--json").json(Answer.self)
    #expect(answer.removed.isEmpty)
    #expect(try copies(in: sandbox) == before.union([String(answer.path.dropFirst(2))]))
  }
}
