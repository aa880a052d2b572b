import CofferDocuments
import Foundation
import Testing

@testable import CofferFormats

/// Contents of attachments in files that an import reads.
@Suite struct AttachmentFileTests {
  private static let digest = "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0"  // of "aaa"

  private func folder(_ index: String, _ files: [String: String] = [:]) throws -> TemporaryDirectory {
    let folder = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: "\(folder.path)/in/a.files", withIntermediateDirectories: true)
    try folder.write("secret".utf8, to: "secret")
    for (name, text) in ["a.txt": "text", "b.txt": "other", "index.ndjson": index].merging(
      files, uniquingKeysWith: { $1 })
    {
      try folder.write(text.utf8, to: "in/\(name)")
    }
    return folder
  }

  private func contents(
    _ source: some DraftSource
  ) throws -> [(text: String, attachments: [(name: String, content: [UInt8])])] {
    var source = source
    var batch = DraftBatch()
    var all: [(String, [(String, [UInt8])])] = []
    while try source.read(into: &batch) {
      for draft in batch.drafts {
        var list: [(String, [UInt8])] = []
        for attachment in batch.attachments[draft.attachments] {
          var content: [UInt8] = []
          switch attachment.content {
          case .bytes(let bytes): content = bytes
          case .parts(let read): try read { content += $0 }
          case .file: Issue.record("a path instead of a reader")
          }
          list.append((attachment.name, content))
        }
        all.append((draft.text.map { String(decoding: batch.bytes[$0], as: UTF8.self) } ?? "", list))
      }
    }
    return all
  }

  private func line(_ file: String, sha256: String = digest) -> String {
    #"{"file":"a.txt","attachments":[{"name":"x/y","file":"\#(file)","sha256":"\#(sha256)"}]}"# + "\n"
      + #"{"file":"b.txt"}"# + "\n"
  }

  @Test func readsListedFiles() throws {
    let folder = try folder(line("a.files/x"), ["a.files/x": "aaa"])
    let read = try contents(DirectorySource(path: "\(folder.path)/in"))
    #expect(read.map(\.text) == ["text", "other"])
    #expect(read[0].attachments.map(\.name) == ["x/y"] && read[0].attachments.map(\.content) == [Array("aaa".utf8)])
    #expect(read[1].attachments.isEmpty)
  }

  @Test(arguments: [
    "../secret", "/etc/hostname", "a.files/../../secret", "link", "linked/secret", "a.files", "gone", ".",
  ])
  func refusesFilesOutsideFolder(_ file: String) throws {
    let folder = try folder(line(file))
    for (link, target) in [("link", "../secret"), ("linked", "..")] {
      try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/in/\(link)", withDestinationPath: target)
    }
    let error = failure(try DirectorySource(path: "\(folder.path)/in"))
    #expect(error?.code == .unreadable || error?.code == .malformed)
    #expect(error?.path?.hasSuffix("/\(file)") == true)
    let rejections = Rejections()
    let read = try contents(DirectorySource(path: "\(folder.path)/in", options: rejections.options()))
    #expect(read.map(\.text) == ["other"] && rejections.all.map(\.record) == [1])
  }

  @Test func rejectsOtherContent() throws {
    let folder = try folder(line("a.files/x"), ["a.files/x": "aab"])
    #expect(throws: FormatError.self) { try contents(DirectorySource(path: "\(folder.path)/in")) }
    let rejections = Rejections()
    let read = try contents(DirectorySource(path: "\(folder.path)/in", options: rejections.options()))
    #expect(read.map(\.text) == ["other"] && rejections.all.first?.error.code == .malformed)
  }

  @Test func readsContentsForJSON() throws {
    let folder = try folder(line("a.files/x"), ["a.files/x": "aaa"])
    let lines = ["a.files/x", "../secret", "a.files/gone"].map {
      #"{"text":"\#($0)","attachments":[{"name":"n","file":"\#($0)"},{"name":"listed only"}]}"#
    }
    let rejections = Rejections()
    let files = try AttachmentFiles(path: "\(folder.path)/in")
    let options = rejections.options { $0.attachments = files }
    let source = NDJSONSource(MemoryByteSource(lines.joined(separator: "\n")), options: options)
    let read = try contents(source)
    #expect(read.map(\.text) == ["a.files/x"] && read[0].attachments.map(\.content) == [Array("aaa".utf8)])
    #expect(rejections.all.map(\.record) == [2, 3])
    #expect(rejections.all.allSatisfy { $0.error.reason.contains("/in/") })
  }

  @Test(arguments: [
    #"[{"file":"x"}]"#, #"[{"name":""}]"#, #"[{"name":"a","date":"soon"}]"#, #"[{"name":"a","sha256":"00"}]"#,
    #"[{"name":"a","type":"a b"}]"#, "{}", #"["a"]"#,
  ])
  func rejectsInvalidList(_ list: String) throws {
    var options = ReadingOptions()
    options.attachments = try AttachmentFiles(path: FileManager.default.temporaryDirectory.path)
    let json = #"{"text":"t","attachments":\#(list)}"#
    #expect(failure(NDJSONSource(MemoryByteSource(json), options: options))?.code == .malformed)
    // Without contents, the member of another program is an attribute.
    let attributes = try drafts(NDJSONSource(MemoryByteSource(json))).first?.attributes
    #expect(attributes?.hasPrefix(#"{"attachments":"#) == true)
  }

  @Test func makesSafeNames() {
    var names = FileNames()
    func name(_ name: String) -> String { names.name(ofAttachment: name, number: 7) }
    #expect(name("photo.png") == "photo.png")
    #expect(name("PHOTO.png") == "PHOTO-2.png")
    #expect(name("a/b:c.tar.gz") == "a_b_c.tar.gz")
    #expect(name("..") == "attachment-7")
    #expect(name(". .") == "attachment-7-2")
    #expect(name("con.TXT") == "con_.TXT")
    #expect(name(".profile") == "profile")
    #expect(name("x\u{0}\n.") == "x__")
    #expect(name(String(repeating: "é", count: 600) + ".jpeg").utf8.count == 185)
    #expect(name("a.\(String(repeating: "b", count: 900))").utf8.count == 180)
  }
}
