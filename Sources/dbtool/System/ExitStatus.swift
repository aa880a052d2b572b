/// The exit codes (Commands, "Exit codes").
enum ExitStatus: Int32, Sendable {
  case done = 0
  case failed = 1
  /// Rejected records or unreadable documents are listed.
  case partlyDone = 3
  /// Nothing found, or not the same.
  case answerIsNo = 4
  case noStore = 10
  case locked = 11
  case cannotUnlock = 12
  case keyNeeded = 13
  case noDocument = 14
  case otherFormat = 15
  case testKeyRefused = 16
  case damaged = 20
  case mismatch = 21
  case undecodable = 22
  case rekeyUnfinished = 23
  /// A replication program didn't confirm the commits.
  case notConfirmed = 24
  case usage = 64
  case interrupted = 130
}

/// An exit code other than `done` that isn't an error, because all output has been printed.
struct Outcome: Error {
  let status: ExitStatus

  init(_ status: ExitStatus) {
    self.status = status
  }
}
