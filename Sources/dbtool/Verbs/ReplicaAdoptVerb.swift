internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform
internal import CofferReplication

/// `replica adopt STORE DIRECTORY`: gives readers a verified copy of a replicated file.
struct ReplicaAdoptVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "adopt",
    abstract: "Give readers a verified copy of a store that replication changes.",
    discussion: """
      STORE is the file that 'litestream restore -f' writes. No other program may open it. The command verifies a \
      snapshot of STORE in rollback journal mode, and compares it with the anchor and the previous copy. The copy then \
      gets the next number in DIRECTORY, the link 'current' switches to it, and the oldest copies are deleted. Readers \
      open DIRECTORY/current. If STORE is unchanged, DIRECTORY remains unchanged.

      With --every, the command repeats until a signal ends it with exit code 0. A temporary problem, such as a file \
      in the middle of a change, is a warning. Another store, branch or pin, a wrong key, or a manually changed link \
      ends the command.

        dbtool replica adopt /var/lib/follow/texts.coffer /srv/texts --anchor confirmed.anchor --key-file my.key
        dbtool replica adopt /var/lib/follow/texts.coffer /srv/texts --anchor confirmed.anchor --every 1
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The folder for the copies.", valueName: "directory"), completion: .directory)
  var directory: String

  @OptionGroup var anchor: AnchorOptions

  @Option(help: ArgumentHelp("Repeat at this interval.", valueName: "seconds"))
  var every: Double?

  @Option(help: ArgumentHelp("The number of copies to keep, including the new copy (default: 5).", valueName: "n"))
  var keep: Int?

  @Flag(help: "Open only documents changed since the previous copy, without finding damage in other texts.")
  var quick = false

  func validate() throws {
    if let every, !(every > 0 && every <= 86_400) { throw ValidationError("--every takes seconds, more than 0") }
    if let keep, keep < 1 { throw ValidationError("--keep takes a number from 1") }
  }

  func run() throws {
    // Ask for the key once, and use it for each copy.
    let key = try options.openingKey()
    guard let every else {
      try report(try Interrupt.deferring { try adopt(key) }, isLoop: false)
      return
    }
    do {
      try Interrupt.deferring { try loop(key, every: .milliseconds(Int64(every * 1000))) }
    } catch let failure as Failure where failure.status == .interrupted {
      // A signal is the only successful end of the loop.
      options.common.diagnostics.note("stopped")
    }
  }

  private func adopt(_ key: StoreKey) throws -> Adoption {
    try Interrupt.check()
    let opening = try options.openOptions(true)
    var adopting = AdoptOptions()
    adopting.pin = opening.pin
    adopting.requirement = anchor.requirement
    adopting.allowsRekey = anchor.allowRekey
    adopting.keptCopies = keep ?? adopting.keptCopies
    adopting.opensChangedOnly = quick
    adopting.allowsTestKeys = opening.allowsTestKeys
    adopting.wait = opening.wait ?? adopting.wait
    let folder = ReplicaFolder(at: URL(filePath: directory))
    let kept = try anchor.given()
    let adoption = Result { () throws(StoreError) in
      try folder.adopt(options.store.url, key: key, anchor: kept, options: adopting)
    }
    return try adoption.mapError { options.namingKeys($0, for: options.store.path) }.get()
  }

  /// Adopts until a signal arrives. Reports a temporary problem once.
  private func loop(_ key: StoreKey, every interval: Duration) throws {
    var reported: String?
    while true {
      let start = ContinuousClock.now
      do {
        let adoption = try adopt(key)
        if reported != nil { options.common.diagnostics.note("\(options.store.path) is adopted again") }
        reported = nil
        try report(adoption, isLoop: true)
      } catch let failure as Failure where Self.mayPass(failure) {
        if failure.message != reported { options.common.diagnostics.warning(failure.message) }
        reported = failure.message
      }
      try Interrupt.wait(interval, since: start)
    }
  }

  /// Returns whether the next attempt may succeed, because the file is changing, being restored, or older than its anchor.
  private static func mayPass(_ failure: Failure) -> Bool {
    switch failure.status {
    case .locked, .damaged, .noStore: true
    // The anchor file is being replaced.
    case .usage: true
    case .mismatch: failure.kind == "rolled-back" || failure.kind == "set-mismatch"
    default: failure.kind == "disk-full" || failure.kind == "no-such-file"
    }
  }

  private func report(_ adoption: Adoption, isLoop: Bool) throws {
    let (copy, isNew) =
      switch adoption {
      case .unchanged(let copy): (copy, false)
      case .adopted(let copy): (copy, true)
      }
    guard isNew || !isLoop else { return }
    let facts: [(String, JSONValue?)] = [
      ("adopted", .bool(isNew)), ("path", .string(copy.url.path)), ("generation", .integer(Int64(copy.generation))),
      ("documents", .integer(copy.documents)), ("confirmed", copy.relation.map { .string($0.words) }),
      ("anchor", .string(copy.anchor.description)),
    ]
    guard isLoop, !options.common.isMachineReadable else {
      return try Report(facts).print(as: options.common.listFormat)
    }
    try printLines("\(copy.url.path)\t\(copy.generation)")
  }
}
