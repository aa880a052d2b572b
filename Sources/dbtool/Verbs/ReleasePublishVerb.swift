internal import ArgumentParser
internal import Coffer
internal import CofferCopies
internal import CofferEngine
internal import CofferFoundation

/// `release publish STORE DIRECTORY`: writes the files of the newest release.
struct ReleasePublishVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish",
    abstract: "Publish the newest release to a folder.",
    discussion: """
      Any static hosting can serve the folder. It has a file with all documents, files with the changes since earlier \
      releases, a small key file for each customer, and a signed index, which is written last. Customers who aren't in \
      the list can't open this release. Anyone can carry the files, because 'update' proves them before it reads their \
      contents.

        dbtool release publish texts.coffer public --signing release.key \\
          --customers customers.txt -k my.key
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The folder.", valueName: "directory"), completion: .directory)
  var directory: String

  @Option(help: ArgumentHelp("The newest release's signing key.", valueName: "file"), completion: .file())
  var signing: String

  @Option(
    help: ArgumentHelp(
      "The customers who can read the release: a file with a name and a recipient per line.", valueName: "file"),
    completion: .file())
  var customers: String

  @OptionGroup var progress: ProgressOptions

  func validate() throws {
    KeyDescriptors.close(onExecIfOf: signing)
  }

  func run() throws {
    try InputFile.requirePath(signing, of: "key file")
    let key = try SigningKey(contentsOf: URL(filePath: signing))
    let customers = try ReleaseCustomer.inFile(customers)
    let store = try options.open(readOnly: true)
    let bar = Progress("publish", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let report = try Interrupt.deferring {
      try store.publishRelease(to: URL(filePath: directory), for: customers, signedBy: key) {
        bar.update($0)
        try Interrupt.check()
      }
    }
    bar.finish()
    try store.close()
    try Report([
      ("path", .string(directory)), ("release", .integer(report.release)),
      ("files", .array(report.files.map { .string($0.name) })),
      ("bytes", .integer(report.files.reduce(0) { $0 + $1.byteCount })),
      ("changed_documents", report.changedDocuments.map { .integer($0) }), ("customers", .integer(customers.count)),
    ]).print(as: options.common.listFormat)
  }
}

extension ReleaseCustomer {
  /// Reads a file with a customer's name and recipient in each line. Skips empty lines and lines that start with #.
  fileprivate static func inFile(_ path: String) throws -> [ReleaseCustomer] {
    guard let text = String(validating: try InputFile.contents(of: path, limit: 16 << 20), as: UTF8.self) else {
      throw Failure(.failed, kind: "not-customers", "\(path) is not UTF-8, as a list of customers is")
    }
    var customers: [ReleaseCustomer] = []
    var names: Set<Substring> = []
    for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let name = words.first, !name.hasPrefix("#") else { continue }
      // Don't repeat the line, because it may be a secret.
      guard words.count == 2,
        words[1].hasPrefix("coffer-recipient-1-") || words[1].hasPrefix("coffer-test-recipient-1-")
      else {
        throw Failure.usage(
          "\(path), line \(number + 1) isn't a name and a recipient",
          hint: "'dbtool keygen -y' prints the recipient of an identity")
      }
      let place = "\(path), line \(number + 1)"
      guard names.insert(name).inserted else {
        throw Failure.usage("\(place): an earlier customer has this name", hint: "give each a name of its own")
      }
      do throws(StoreError) {
        customers.append(try ReleaseCustomer(name: String(name), recipient: try Recipient(String(words[1]))))
      } catch {
        throw Failure.usage(
          "\(place): \(error.message)", hint: "'dbtool keygen -y' prints the recipient of an identity")
      }
    }
    guard !customers.isEmpty else {
      throw Failure.usage("\(path) has no customers, so nobody could read the release", hint: "name one at least")
    }
    return customers
  }
}
