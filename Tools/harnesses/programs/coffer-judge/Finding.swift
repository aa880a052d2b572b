/// The differences between a damaged store and the sound one. Ids are strings, because they name members in JSON.
struct Finding: Encodable {
  /// "ok", or the code of the error that kept the store from being opened.
  var open = ""
  /// For each document that was not read by its number as stored: the code of the error, or "different".
  var documents: [String: String] = [:]
  /// For each collection: how a list with sealed titles and a walk through texts ended, and the ids that they gave.
  var lists: [String: Listing] = [:]
  /// For each key that does not lead to its document: the code, "missing" or "different".
  var keys: [String: String] = [:]
  /// For each attachment that was not read by its number as stored: the code of the error, or "different".
  var attachments: [String: String] = [:]
  /// For each document whose attachments are not listed as stored: the code, "missing" where some are left out, or
  /// "different".
  var attached: [String: String] = [:]
  /// For each search or query of a store with indexes that is not answered as it was: the code of the error, "missing"
  /// where rows are left out, or "different".
  var answers: [String: String] = [:]
  /// Other differences: "collections", "generation", "count", "slots", or these with an error's code.
  var others: [String] = []
  /// "ok", "mismatch" or "damaged"; or the code of the error that was thrown.
  var verify = ""
  /// The documents that verify names.
  var named: [String] = []
  /// The problems that verify reports.
  var problems: [String] = []
  /// The traces of reading: names of new files, and "changed" for a changed store.
  var left: [String] = []
  /// CPU time of the reading.
  var seconds = 0.0

  struct Listing: Encodable {
    var headers = Walk()
    var texts = Walk()
  }

  struct Walk: Encodable {
    /// "ok", "partial" where some are missing in silence, or the code of an error.
    var end = "ok"
    /// Documents that differ from the stored ones or do not belong into the list; "order" if only the order differs.
    var different: [String] = []
    /// Documents that the list lacks.
    var missing: [String] = []
  }
}

/// The documents of the sound store, for the driver to compare with those that it imported.
struct Summary: Encodable {
  let documents: [Entry]

  struct Entry: Encodable {
    let id: Int64
    let collection: String
    let title: String?
    let key: String?
    let parent: Int64?
    let text: String
  }
}
