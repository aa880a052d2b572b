internal import ArgumentParser
internal import Coffer
internal import CofferFoundation
internal import CofferSync

/// `sync init|join|run|status|invite|remove|leave`: syncs documents between devices through a folder.
struct SyncVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Sync documents between devices through a folder.",
    discussion: """
      Syncthing, Dropbox, a USB stick or any other carrier copies the folder between devices, but can't read its \
      contents. The stores themselves are never in the folder.

        dbtool sync init laptop.coffer ~/Sync/notes --name laptop -p
        dbtool sync join phone.coffer ~/Sync/notes --name phone -p
        dbtool sync run laptop.coffer ~/Sync/notes -p
      """,
    subcommands: [
      SyncInitVerb.self, SyncJoinVerb.self, SyncRunVerb.self, SyncStatusVerb.self, SyncInviteVerb.self,
      SyncRemoveVerb.self, SyncLeaveVerb.self,
    ])
}

/// The arguments that all folder verbs share.
struct SyncFolderOptions: ParsableArguments {
  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The folder.", valueName: "directory"), completion: .directory)
  var directory: String

  var folder: SyncFolder { SyncFolder(at: URL(filePath: directory)) }
}

struct SyncNameOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A name for this device, up to 64 bytes (default: the computer's name).", valueName: "name"))
  var name: String?

  func validate() throws {
    if let name, name.utf8.count > 64 { throw ValidationError("--name has up to 64 bytes") }
  }

  var label: String {
    if let name { return name }
    var label = ProcessInfo.processInfo.hostName
    while label.utf8.count > 64 { label.removeLast() }
    return label
  }
}

struct SyncInitVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Start syncing a store through an empty folder.",
    discussion: """
      Creates DIRECTORY with all documents, encrypted, and an invitation for other devices. The key that opens STORE \
      also opens the invitation, and so does the identity of each -r. Prints the invitation's pin. A device that joins \
      with an identity checks this pin with --pin, because anyone who knows a recipient can make an invitation for it.

        dbtool sync init laptop.coffer ~/Sync/notes --passphrase
        dbtool sync init laptop.coffer ~/Sync/notes -k my.key -r coffer-recipient-1-…
      """)

  @OptionGroup var place: SyncFolderOptions
  @OptionGroup var name: SyncNameOption
  @OptionGroup var recipients: RecipientOptions

  func run() throws {
    let options = place.options
    let key = try options.openingKey()
    defer { key.forget() }
    let store = try options.open(with: key, readOnly: false)
    let invitation = try store.startSyncing(
      by: place.folder, keys: [key], recipients: try recipients.given(), label: name.label)
    key.forget()
    let report = try Interrupt.deferring(inSteps: true) {
      try store.exchange(with: place.folder) { _ in try Interrupt.check() }
    }
    try store.close()
    try Report([
      ("path", .string(invitation.url.path)), ("pin", .string(invitation.pin.description)),
      ("bytes", .integer(report.publishedBytes)),
    ]).print(as: options.common.listFormat)
    let folder = Shell.quoted(path: place.directory)
    options.common.diagnostics.note(
      "on another device: dbtool sync join --store NEW \(folder), with the key of this store")
  }
}

struct SyncJoinVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join",
    abstract: "Create a store with a folder's documents.",
    discussion: """
      STORE is new. The given key opens the folder's invitation, and STORE unless --new-… names other keys. Titles and \
      padding are as in the store that started the folder. Afterward, 'sync run' exchanges changes through DIRECTORY. \
      New documents get ids from a separate range.

        dbtool sync join phone.coffer ~/Sync/notes --passphrase
      """)

  @OptionGroup var place: SyncFolderOptions
  @OptionGroup var name: SyncNameOption
  @OptionGroup(title: "The new store") var recipients: RecipientOptions
  @OptionGroup(title: "The new store") var newKeys: KeyOptions<NewFamily>

  @Flag(help: "Use a write-ahead log, so others can read during a write.")
  var wal = false

  func run() throws {
    let options = place.options
    let path = options.store.path
    if InputFile.exists(path) {
      throw Failure(
        .failed, kind: "already-exists", "\(path) exists already",
        hint: "name another file; 'dbtool sync run' syncs a store that has joined")
    }
    let key = try options.openingKey()
    defer { key.forget() }
    let slots =
      newKeys.isEmpty && recipients.isEmpty
      ? nil : try newKeys.newSlots(recipients, for: path, policy: options.policy)
    defer { slots?.forget() }
    var opening = try options.openOptions(false)
    let pin = opening.pin
    opening.pin = nil
    if wal { opening.creation.journal = .writeAheadLog }
    let report = try Interrupt.deferring(inSteps: true) {
      do {
        return try DocumentStore.join(
          place.folder, at: options.store.url, key: key, pin: pin, keys: slots?.keys ?? [key],
          recipients: slots?.recipients ?? [], label: name.label, options: opening
        ) { _ in try Interrupt.check() }
      } catch let error as StoreError where error.code == .cannotUnlock {
        throw StoreError(
          .cannotUnlock, "the folder's invitation: \(error.message)",
          hint: "give a key of the newest invitation, which 'dbtool sync init', 'sync invite' or 'sync remove' made")
      } catch let error as StoreError where error.code == .pinMismatch {
        throw StoreError(
          .pinMismatch, "the folder's invitation: \(error.message)",
          hint: "give the pin that 'dbtool sync init' printed on the device that began")
      }
    }
    try report.print(options.common)
  }
}

struct SyncRunVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Take other devices' changes, and publish this store's changes.",
    discussion: """
      Never asks and never loses text. If a text changes on two devices at the same time, one version remains and the \
      other becomes a document next to it, the same on every device. An edited document isn't deleted. If a run is \
      stopped, the next run continues it. Problems that need a person are warnings, and the exit code is then 3.

      With --watch, the command runs until a signal ends it, even if the folder is missing or the store is locked.

        dbtool sync run laptop.coffer ~/Sync/notes -p
        dbtool sync run laptop.coffer ~/Sync/notes --watch --every 10 -k my.key
      """)

  @OptionGroup var place: SyncFolderOptions

  @Flag(help: "Keep running, and check the folder repeatedly.")
  var watch = false

  @Flag(help: "Republish the store to a folder that lost files.")
  var empty = false

  @Option(help: ArgumentHelp("With --watch, the time between checks (default: 5).", valueName: "seconds"))
  var every: Double?

  func validate() throws {
    guard let every else { return }
    if !watch { throw ValidationError("--every is for --watch") }
    if !(every > 0 && every <= 86_400) { throw ValidationError("--every takes seconds, more than 0") }
  }

  func run() throws {
    let options = place.options
    let store = try options.open(readOnly: false)
    do {
      try Interrupt.deferring(inSteps: true) {
        var last: FolderSyncReport?
        var hasFailed = false
        repeat {
          do {
            let report = try store.exchange(with: place.folder, acceptingEmptyFolder: empty && last == nil) { _ in
              try Interrupt.check()
            }
            if report.isWorthTelling(after: last) { try report.print(options.common, isLast: !watch) }
            (last, hasFailed) = (report, false)
          } catch let error as StoreError where watch && [.noSuchFile, .locked].contains(error.code) {
            if !hasFailed { options.common.diagnostics.warning(error.message) }
            hasFailed = true
          }
          if watch { try Interrupt.wait(.milliseconds(Int64((every ?? 5) * 1000))) }
        } while watch
      }
    } catch let failure as Failure where watch && failure.status == .interrupted {
      options.common.diagnostics.note("stopped")
    }
    try store.close()
  }
}

struct SyncStatusVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show a folder's devices and problems.",
    discussion: """
      Reads only the beginning of each file, without changing the store or folder. The run that takes a file finds \
      damage in the rest. A silent device is shown with the date of its last file. If a text changed on two devices at \
      the same time, a note lists both documents until one of them is moved or deleted. Any problem other than a file \
      in transit is a warning with the file and what to do, and the exit code is then 4.

        dbtool sync status laptop.coffer ~/Sync/notes -p
      """)

  @OptionGroup var place: SyncFolderOptions

  func run() throws {
    let common = place.options.common
    let store = try place.options.open(readOnly: true)
    let status = try store.syncStatus(of: place.folder)
    try store.close()
    var table = TableWriter(
      columns: [
        .init(name: "device", isNumber: false), .init(name: "name", isNumber: false),
        .init(name: "this", isNumber: false), .init(name: "files", isNumber: true),
        .init(name: "last", isNumber: false), .init(name: "removed", isNumber: false),
      ], format: common.listFormat)
    for device in status.devices {
      try table.add([
        .string(device.id.description), .string(device.label), .bool(device.isThisStore),
        .integer(Int(clamping: device.fileCount)), device.lastDate.map { .date($0) }, .bool(device.isRemoved),
      ])
    }
    try table.finish()
    for pair in status.otherVersions {
      common.diagnostics.note(
        "document \(pair.version) is another version of document \(pair.document): keep what you need of it, and delete "
          + "one of them")
    }
    if status.hasUnpublishedChanges { common.diagnostics.note("changes of this store aren't published yet") }
    try status.problems.tell(common, .answerIsNo)
  }
}

struct SyncInviteVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "invite",
    abstract: "Create another invitation to a folder.",
    discussion: """
      For devices that join with another key, or for a folder that lost its invitation. Replaces this device's earlier \
      invitation. Anyone who has a copy of the earlier invitation can still join with its keys.

        dbtool sync invite laptop.coffer ~/Sync/notes --new-passphrase -p
      """)

  /// The name of the invitation in passphrase prompts.
  static let invitation = "the invitation"

  @OptionGroup var place: SyncFolderOptions
  @OptionGroup(title: "The new invitation") var recipients: RecipientOptions
  @OptionGroup(title: "The new invitation") var newKeys: KeyOptions<NewFamily>

  func run() throws {
    let options = place.options
    let store = try options.open(readOnly: false)
    let slots = try newKeys.newSlots(recipients, for: Self.invitation, policy: options.policy)
    defer { slots.forget() }
    let invitation = try store.makeInvitation(to: place.folder, keys: slots.keys, recipients: slots.recipients)
    try store.close()
    try Report([("path", .string(invitation.url.path)), ("pin", .string(invitation.pin.description))])
      .print(as: options.common.listFormat)
  }
}

struct SyncRemoveVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a device, such as a lost phone.",
    discussion: """
      The folder restarts with a secret that the device doesn't get, and the other devices continue with their next \
      run. The removed device keeps its documents, but its later changes are never taken. Other devices join with the \
      new invitation, using keys that the removed device doesn't have. DEVICE is an id from 'sync status', or a name. \
      Also look there for unknown devices, because a stolen device can have added them.

        dbtool sync remove laptop.coffer ~/Sync/notes phone --new-passphrase -p
      """)

  @OptionGroup var place: SyncFolderOptions

  @Argument(help: ArgumentHelp("The device.", valueName: "device"))
  var device: String

  @OptionGroup(title: "The new invitation") var recipients: RecipientOptions
  @OptionGroup(title: "The new invitation") var newKeys: KeyOptions<NewFamily>

  func run() throws {
    let options = place.options
    let store = try options.open(readOnly: false)
    // Exchange first, because the device can have joined since the last run.
    _ = try Interrupt.deferring(inSteps: true) { try store.exchange(with: place.folder) { _ in try Interrupt.check() } }
    let known = try store.syncStatus(of: place.folder).devices.filter { !$0.isThisStore && !$0.isRemoved }
    // Look for an ID first, because a device's name can be another device's ID.
    let withID = known.filter { $0.id.description == device }
    let named = withID.isEmpty ? known.filter { $0.label == device } : withID
    guard named.count == 1 else {
      throw Failure(
        .failed, kind: "no-such-device",
        named.isEmpty ? "the folder has no other device \(device)" : "several devices are called \(device)",
        hint: "give the id that 'dbtool sync status' shows")
    }
    let slots = try newKeys.newSlots(recipients, for: SyncInviteVerb.invitation, policy: options.policy)
    defer { slots.forget() }
    let (invitation, report) = try Interrupt.deferring(inSteps: true) {
      try store.removeDevice(
        named[0].id, from: place.folder, keys: slots.keys, recipients: slots.recipients
      ) { _ in try Interrupt.check() }
    }
    try store.close()
    try Report([
      ("path", .string(invitation.url.path)), ("pin", .string(invitation.pin.description)),
      ("bytes", .integer(report.publishedBytes)),
    ]).print(as: options.common.listFormat)
    try report.problems.tell(options.common, .partlyDone)
  }
}

struct SyncLeaveVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "leave",
    abstract: "Stop syncing a store.",
    discussion: """
      STORE keeps its documents and forgets the folder, but the folder's files remain. Other devices continue without \
      STORE, and 'sync remove' on one of them prevents it from reading later changes.

        dbtool sync leave laptop.coffer -p
      """)

  @OptionGroup var options: StoreOptions

  func run() throws {
    let store = try options.open(readOnly: false)
    try store.stopSyncing()
    try store.close()
    options.common.diagnostics.note("\(options.store.path) doesn't sync any more")
  }
}

extension FolderSyncReport {
  /// Returns whether a repeated run has news to report.
  fileprivate func isWorthTelling(after last: FolderSyncReport?) -> Bool {
    guard let last else { return true }
    return !taken.isEmpty || publishedBytes > 0 || isNewDevice || problems != last.problems
  }

  /// Prints the counts of taken and published changes.
  ///
  /// - Parameter isLast: Whether problems end the command.
  fileprivate func print(_ common: CommonOptions, isLast: Bool = true) throws {
    let changes = taken.reduce(0) { $0 + $1.report.changeCount }
    try Report([
      ("published", .integer(publishedDocuments)), ("bytes", .integer(publishedBytes)),
      ("files_taken", .integer(taken.count)), ("changes", .integer(changes)),
    ]).print(as: common.listFormat)
    let versions = taken.reduce(0) { $0 + $1.report.entries.count { $0.action == .copied } }
    if versions > 0 {
      common.diagnostics.note(
        "\(counted(versions, "text")) changed on two devices at once: 'dbtool sync status' lists both versions")
    }
    if isNewDevice {
      common.diagnostics.note("this file was restored or copied, so this device goes on under a new name")
    }
    if isLast {
      try problems.tell(common, .partlyDone)
    } else {
      for problem in problems where problem.kind != .waiting { common.diagnostics.warning(problem.text) }
    }
  }
}

extension [FolderSyncReport.Problem] {
  /// Prints the problems, even with `--quiet` if they determine the exit code.
  ///
  /// - Throws: The exit code, if a problem is more than a file in transit.
  fileprivate func tell(_ common: CommonOptions, _ status: ExitStatus) throws {
    for problem in self {
      if problem.kind == .waiting {
        common.diagnostics.note(problem.text)
      } else {
        common.diagnostics.finding("warning: \(problem.text)")
      }
    }
    if contains(where: { $0.kind != .waiting }) { throw Outcome(status) }
  }
}

extension FolderSyncReport.Problem {
  fileprivate var text: String {
    "\(path): file \(number) of device \(device)\(label.isEmpty ? "" : " (\(label))"): \(advice)"
  }
}
