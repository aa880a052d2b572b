import Coffer
import Foundation
import Testing

/// Runs `dataset`, the bundled data set in `Examples`, as a vendor and as a customer.
@Suite struct DataSetTests {
  private let first =
    "key\ttitle\ttext\nberlin\tBerlin\tTwo airports\nparis\tParis\tThree stations\nrome\tRome\tOne tram\n"
  private let second =
    "key\ttitle\ttext\nberlin\tBerlin\tOne airport\nparis\tParis\tFour stations\noslo\tOslo\tOne fjord\n"

  /// - Returns: A folder with the data set, and the data set's pin.
  private func shipped() throws -> (Workshop, pin: String) {
    let workshop = try Workshop("dataset")
    try workshop.makeKey("vendor.key")
    try workshop.makeIdentity("customer.identity")
    return (workshop, try ship(first, in: workshop))
  }

  @discardableResult
  private func ship(_ table: String, in workshop: Workshop) throws -> String {
    try workshop.write("data.tsv", table)
    return try #require(
      workshop.succeed("vendor", "make", "data.tsv", "data.coffer", "--for", "customer.identity.pub").lines.first)
  }

  @Test func customerListsAndReadsTheDataSet() throws {
    let (workshop, pin) = try shipped()
    #expect(try workshop.succeed("titles").lines == ["Berlin", "Paris", "Rome"])
    #expect(!workshop.exists("mine.coffer"))
    let original = try workshop.read("data.coffer")
    let list = try workshop.succeed("list", "--expect", pin)
    #expect(list.lines == ["berlin\tBerlin", "paris\tParis", "rome\tRome"])
    #expect(list.errors == "dataset: made your copy of the data set\n")
    #expect(try workshop.succeed("show", "paris").text == "Three stations\n")
    #expect(try workshop.read("data.coffer") == original)
    #expect(try workshop.succeed("list").errors.isEmpty)
  }

  @Test func mergesUpdateAndKeepsEdits() throws {
    let (workshop, pin) = try shipped()
    try workshop.succeed("edit", "berlin", input: "Three airports, one closed\n")
    #expect(try ship(second, in: workshop) == pin)
    let list = try workshop.succeed("list", "--expect", pin)
    #expect(list.lines == ["berlin\tBerlin", "paris\tParis", "oslo\tOslo"])
    #expect(
      list.errors
        == "dataset: the data set was updated (added: 1, changed: 1, deleted: 1, kept as you edited them: 1)\n")
    #expect(try workshop.succeed("show", "berlin").text == "Three airports, one closed\n")
    #expect(try workshop.succeed("show", "paris").text == "Four stations\n")
    // The second run doesn't need to merge.
    #expect(try workshop.succeed("list").errors.isEmpty)
  }

  @Test func encryptsTextsWithPlaintextTitles() throws {
    let (workshop, _) = try shipped()
    try workshop.succeed("edit", "rome", input: "Two trams")
    for name in ["data.coffer", "mine.coffer"] {
      for text in ["Two airports", "Three stations", "One tram", "Two trams", "berlin"] {
        #expect(try !workshop.holds(name, text))
      }
      #expect(try workshop.holds(name, "Berlin"))
    }
  }

  @Test func rejectsOtherCustomer() throws {
    let (workshop, _) = try shipped()
    try workshop.makeIdentity("other.identity")
    let result = try workshop.run("list", "--identity", "other.identity", "--copy", "theirs.coffer")
    #expect(result.status == 1 && result.text.isEmpty)
    #expect(result.errors == "dataset: no slot opens with this key; dbtool info lists the slots\n")
    #expect(!workshop.exists("theirs.coffer"))
    let mixed = try workshop.run("vendor", "make", "data.tsv", "data.coffer", "--for", "other.identity.pub")
    #expect(mixed.status == 1 && mixed.errors == "dataset: data.coffer was made for another customer\n")
  }

  @Test func rejectsDataSetOfAnotherVendor() throws {
    let (workshop, pin) = try shipped()
    try workshop.makeKey("evil.key")
    try workshop.succeed(
      "vendor", "make", "data.tsv", "evil.coffer", "--for", "customer.identity.pub", "--key-file", "evil.key")
    let pinned = try workshop.run("list", "--original", "evil.coffer", "--expect", pin)
    #expect(pinned.status == 1 && pinned.errors.contains("this is not the store that was expected"))
    #expect(!workshop.exists("mine.coffer"))
    // Without a pin, the copy identifies its original after the first run.
    try workshop.succeed("list")
    let before = try workshop.read("mine.coffer")
    let known = try workshop.run("list", "--original", "evil.coffer")
    #expect(known.status == 1 && known.errors.contains("no common origin"))
    #expect(try workshop.read("mine.coffer") == before)
  }

  @Test func malformedTableLeavesDataUnchanged() throws {
    let (workshop, _) = try shipped()
    let before = try workshop.read("data.coffer")
    try workshop.write("bad.tsv", "key\ttitle\ttext\nberlin\tBerlin\tTwo\nparis\tParis\n")
    for output in ["data.coffer", "new.coffer"] {
      let result = try workshop.run("vendor", "make", "bad.tsv", output, "--for", "customer.identity.pub")
      #expect(result.status == 1)
      #expect(result.errors.contains("bad.tsv: 2 fields in a row, where the first has 3 (record 2, line 3, column 1"))
    }
    #expect(!workshop.exists("new.coffer"))
    try workshop.write("bad.tsv", "key\ttitle\ttext\nberlin\tBerlin\tTwo\nberlin\tParis\tThree\n")
    let twice = try workshop.run("vendor", "make", "bad.tsv", "data.coffer", "--for", "customer.identity.pub")
    #expect(twice.status == 1 && twice.errors.contains("record 2: an earlier record of the input has the same key"))
    let secret = try workshop.run("vendor", "make", "data.tsv", "new.coffer", "--for", "customer.identity")
    #expect(secret.status == 1 && secret.errors.contains("this is an identity, not a recipient"))
    #expect(try workshop.read("data.coffer") == before && !workshop.exists("new.coffer"))
  }

  @Test func recoversFromKilledVendor() throws {
    let (workshop, _) = try shipped()
    let before = try workshop.read("data.coffer")
    // The table is a pipe. The program is killed while it reads the pipe within the transaction.
    try #require(mkfifo(workshop.url("table.tsv").path, 0o600) == 0)
    let vendor = try workshop.start(
      "vendor", "make", "table.tsv", "data.coffer", "--for", "customer.identity.pub")
    let table = try FileHandle(forWritingTo: workshop.url("table.tsv"))
    table.write(Data("key\ttitle\ttext\nberlin\tBerlin\tNone\n".utf8))
    vendor.end(by: SIGKILL)
    try table.close()
    #expect(try workshop.succeed("list").lines == ["berlin\tBerlin", "paris\tParis", "rome\tRome"])
    #expect(try workshop.succeed("show", "berlin").text == "Two airports\n")
    #expect(try workshop.read("data.coffer") == before)
    try ship(second, in: workshop)
    #expect(try workshop.succeed("show", "berlin").text == "One airport\n")
  }
}
