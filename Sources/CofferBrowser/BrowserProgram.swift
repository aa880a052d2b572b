package import Coffer

/// The parts of the browser that the program supplies.
package struct BrowserProgram {
  /// Edits a document's text and stores it, and returns whether the text changed.
  ///
  /// The result contains any editing error, so the browser can show it. The closure throws if the program must end.
  package typealias Edit = (DocumentStore) throws -> Result<Bool, any Error>

  /// Replaces the program by a new one, which shows the locked browser. Only returns by throwing.
  let restart: (LockedBrowser) throws -> Void
  /// Opens the store, at first and after a lock. The closure can ask questions on the cleared screen.
  package let reopen: () throws -> DocumentStore
  /// Reads a document, and returns the closure that edits its text while the terminal is restored.
  let edit: (DocumentID, borrowing ReadTransaction) throws -> Edit
  /// Returns the message of an error, with its hint.
  let message: (any Error) -> String
  /// Returns a date for people.
  let date: (Timestamp) -> String

  package init(
    restart: @escaping (LockedBrowser) throws -> Void, reopen: @escaping () throws -> DocumentStore,
    edit: @escaping (DocumentID, borrowing ReadTransaction) throws -> Edit,
    message: @escaping (any Error) -> String, date: @escaping (Timestamp) -> String
  ) {
    self.restart = restart
    self.reopen = reopen
    self.edit = edit
    self.message = message
    self.date = date
  }
}
