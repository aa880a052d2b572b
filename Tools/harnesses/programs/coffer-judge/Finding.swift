/// What stood in a damaged store, beside what stood in the sound one. Ids are strings, as JSON's members are.
struct Finding: Encodable {
  /// "ok", or the code of the error that kept the store from being opened.
  var open = ""
  /// For each document read by its number and not as it was: the code of its error, or "different".
  var documents: [String: String] = [:]
  /// For each collection: how a list with sealed titles and a walk through texts ended, and the ids that they gave.
  var lists: [String: Listing] = [:]
  /// For each key that does not lead to its document: the code, "missing" or "different".
  var keys: [String: String] = [:]
  /// For each search or query of a store with indexes that is not answered as it was: the code of the error, "missing"
  /// where rows are left out, or "different".
  var answers: [String: String] = [:]
  /// What else is not as it was: "collections", "generation", "count", "slots", or these with an error's code.
  var others: [String] = []
  /// "ok", "mismatch" or "damaged"; or the code of the error that was thrown.
  var verify = ""
  /// The documents that verify names.
  var named: [String] = []
  /// What else verify says.
  var problems: [String] = []
  /// What reading left behind.
  var left: [String] = []
  /// Of the processor.
  var seconds = 0.0

  struct Listing: Encodable {
    var headers = Walk()
    var texts = Walk()
  }

  struct Walk: Encodable {
    /// "ok", "partial" where some are missing in silence, or the code of an error.
    var end = "ok"
    /// Documents that came and were not as they were, or came where they do not belong.
    var different: [String] = []
    /// Documents that did not come.
    var missing: [String] = []
  }
}

/// What the sound store holds, for the driver to hold against what it put in.
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
