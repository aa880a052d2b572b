import CofferPlatform
import Foundation
import Testing

/// Tests lists with a slow reader. The command reads the whole store and unlocks it before waiting for the reader.
@Suite struct ReadAheadTests {
  private static let count = 3000

  private func filled() throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    let rows = (1...Self.count).map { "\($0)\tTitle of the document with number \($0)\n" }.joined()
    try sandbox.succeed("import", "s.coffer", "-", "--from", "tsv", input: "key\ttitle\n" + rows)
    return sandbox
  }

  private func readAll(_ descriptor: Int32) -> [UInt8] {
    var all: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(descriptor, &bytes, bytes.count), count > 0 { all += bytes[..<count] }
    return all
  }

  @Test(arguments: [
    ["ls", "s.coffer", "-l"], ["ls", "s.coffer", "-l", "--sort", "size"], ["search", "s.coffer", "Title", "--json"],
    ["search", "s.coffer", "number", "-n", "--in", "title"],
    ["query", "s.coffer", "SELECT id, title, modified FROM documents"], ["ls", "s.coffer", "-l", "--format", "table"],
  ])
  func slowReaderLeavesStoreWritable(arguments: [String]) throws {
    let sandbox = try filled()
    let expected = try sandbox.succeed(arguments).output
    #expect(expected.count > 1 << 16)
    let (child, output) = try sandbox.start(arguments)
    defer { close(output) }
    // The first byte shows that reading has started. The list doesn't fit the pipe.
    var first: UInt8 = 0
    #expect(read(output, &first, 1) == 1)
    try sandbox.succeed("put", "s.coffer", "--title", "A document that came later", "--text", "number")
    #expect(child.isRunning)
    #expect([first] + readAll(output) == expected)
    #expect(child.wait() == 0)
  }

  /// Output beyond the memory limit is buffered in an encrypted file without a name.
  @Test func encryptsBufferedResultsOnDisk() throws {
    let sandbox = try filled()
    let folder = sandbox.path("temporary")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    sandbox.environment["TMPDIR"] = folder
    let sql = """
      SELECT replace(printf('%.1000c', 'x'), 'x', documents.title || ' ') FROM documents, (VALUES (1)) LIMIT 400
      """
    let (child, output) = try sandbox.start(["query", "s.coffer", sql])
    defer { close(output) }
    var first: UInt8 = 0
    #expect(read(output, &first, 1) == 1)
    try sandbox.succeed("put", "s.coffer", "--text", "the lock is free")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child.process)/fd")
      .map { "/proc/\(child.process)/fd/\($0)" }
      .filter { try FileManager.default.destinationOfSymbolicLink(atPath: $0).hasPrefix(folder + "/") }
    let spool = try Data(contentsOf: URL(filePath: try #require(files.first)))
    #expect(spool.count > 1 << 18)
    #expect(spool.range(of: Data("Title of the".utf8)) == nil)
    #expect(readAll(output).count > 8 << 20)
    #expect(child.wait() == 0)
  }
}
