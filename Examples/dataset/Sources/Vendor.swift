import Coffer
import CofferFormats
import Foundation

/// The vendor's side: makes a store from a table, for one customer, and brings it up to date later.
///
/// The vendor keeps each customer's store and ships copies of it. A later version has to be a change of the same store,
/// so that the customer's edits can be merged with it.
struct Vendor {
  let key: URL

  struct Shipment {
    let report: SyncReport
    let pin: StorePin
  }

  /// Makes `output` equal to the table: a row for each entry, with the columns `key`, `title` and `text`.
  ///
  /// Only the customer's identity and the vendor's key open the store.
  func make(_ table: URL, _ output: URL, for customer: Recipient) throws -> Shipment {
    let isNew = !FileManager.default.fileExists(atPath: output.path)
    do {
      let store = try isNew ? create(output, for: customer) : open(output, for: customer)
      let source = try InputSource(opening: table.path, format: .tsv)
      // A row without a key, or with a key that another row has, ends the work; so does a table that lost most rows.
      var options = SyncOptions(stale: .remove(atMost: 0.5))
      options.skipsInvalid = false
      let report = try store.write { try $0.synchronize(.entries, with: source, options: options) }
      try store.close()
      return Shipment(report: report, pin: store.pin)
    } catch {
      if isNew { try? FileManager.default.removeItem(at: output) }
      throw error
    }
  }

  private func create(_ output: URL, for customer: Recipient) throws -> DocumentStore {
    var creation = CreateOptions()
    // Anyone who has the file can read the titles, for lists without a key. Texts are sealed.
    creation.titles = .clear
    creation.labels = ["vendor", "customer"]
    return try DocumentStore.create(at: output, keys: [.keyFile(key)], recipients: [customer], creation: creation)
  }

  private func open(_ output: URL, for customer: Recipient) throws -> DocumentStore {
    let store = try DocumentStore.open(at: output, key: .keyFile(key))
    guard try store.keys.list().contains(where: { $0.detail == customer.line }) else {
      throw StoreError(.invalidArgument, "\(output.lastPathComponent) was made for another customer")
    }
    return store
  }
}
