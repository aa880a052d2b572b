public import ArgumentParser
public import Coffer
import Foundation

/// The program: `vendor make` for the vendor, all other words for the customer.
struct DataSet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dataset", abstract: "Ships a data set to a customer, and reads and edits it there.",
    subcommands: [VendorCommand.self, Titles.self, List.self, Show.self, Edit.self])
}

@main enum Program {
  static func main() {
    do {
      var command = try DataSet.parseAsRoot()
      try command.run()
    } catch let error as StoreError {
      let hint = error.advice.map { advice in
        advice.text { action in
          switch action {
          case .info, .pin: "dbtool info"
          case .makeKey: "dbtool keygen"
          case .verify: "dbtool verify"
          default: action.rawValue
          }
        }
      }
      note(hint.map { "\(error.message); \($0)" } ?? error.message)
      exit(1)
    } catch {
      DataSet.exit(withError: error)
    }
  }
}

/// Prints a note on standard error.
private func note(_ text: String) {
  FileHandle.standardError.write(Data("dataset: \(text)\n".utf8))
}

// MARK: - The vendor

struct VendorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vendor", abstract: "The vendor's side.", subcommands: [Make.self])
}

struct Make: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes a customer's store from a table, or brings it up to the table.",
    discussion: "Prints the store's pin, for the customer's --expect. Send it by another way than the store.")
  @Argument(help: "Tab-separated values with the columns key, title and text.") var table: String
  @Argument(help: "The customer's store.") var output: String
  @Option(name: .customLong("for"), help: "A file with the customer's recipient line.") var recipient: String
  @Option(help: "The vendor's key file.") var keyFile = "vendor.key"

  func run() throws {
    let line = try String(contentsOfFile: recipient, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    let shipment = try Vendor(key: URL(filePath: keyFile))
      .make(URL(filePath: table), URL(filePath: output), for: Recipient(line))
    let report = shipment.report
    note("added: \(report.created.count), changed: \(report.updated.count), removed: \(report.deleted.count)")
    print(shipment.pin)
  }
}

// MARK: - The customer

extension StorePin: ExpressibleByArgument {}

struct CustomerOptions: ParsableArguments {
  @Option(help: "The data set as the vendor shipped it; it is never changed.") var original = "data.coffer"
  @Option(help: "Your copy, which holds your edits.") var copy = "mine.coffer"
  @Option(help: "Your identity file.") var identity = "customer.identity"
  @Option(help: "The pin that the vendor sent: refuses a data set that someone else made.") var expect: StorePin?

  func open() throws -> DocumentStore {
    let customer = Customer(
      original: URL(filePath: original), copy: URL(filePath: copy), identity: URL(filePath: identity), pin: expect)
    let store = try customer.open()
    if let news = Customer.news(of: store) { note(news) }
    return store
  }
}

struct Titles: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Lists the titles of a data set without a key.")
  @Option(help: "The data set as the vendor shipped it.") var original = "data.coffer"

  func run() throws {
    for title in try Customer.clearTitles(of: URL(filePath: original)) { print(title) }
  }
}

struct List: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Lists the entries: key and title.")
  @OptionGroup var customer: CustomerOptions

  func run() throws {
    for header in try Customer.entries(of: customer.open()) {
      print("\(header.key?.text ?? "")\t\(header.title ?? "")")
    }
  }
}

struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Prints the text of an entry.")
  @OptionGroup var customer: CustomerOptions
  @Argument(help: "The entry's key.") var key: String

  func run() throws {
    print(try Customer.text(of: key, in: customer.open()))
  }
}

struct Edit: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Replaces the text of an entry, in your copy, by standard input.")
  @OptionGroup var customer: CustomerOptions
  @Argument(help: "The entry's key.") var key: String

  func run() throws {
    let input = try FileHandle.standardInput.readToEnd() ?? Data()
    guard var text = String(validating: input, as: UTF8.self) else {
      throw StoreError(.notText, "standard input is no UTF-8")
    }
    if text.hasSuffix("\n") { text.removeLast() }
    try Customer.edit(key, text: text, in: customer.open())
  }
}
