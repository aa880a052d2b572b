internal import Coffer
internal import CofferDocuments
package import CofferEngine
package import CofferFoundation
internal import CofferRecords
package import CofferSync
internal import CofferTestSupport

/// Devices that edit documents and exchange them by folders that a carrier keeps alike, all of it from one seed.
///
/// Texts are numbers that are never used twice, so a log can say which of them may be gone: those that a device edited or
/// deleted while it showed them.
package final class SimulatedHistory {
  package struct Options {
    package var devices = 3
    package var steps = 60
    /// Whether documents get attachments.
    package var attachments = false
    /// Whether files of stores are put back.
    package var restores = false
    /// Whether devices are copied.
    package var clones = false
    /// Whether runs fail in the middle.
    package var failures = false
    /// Whether the carrier loses, cuts, changes, exchanges, repeats and puts back files.
    package var adversary = false
    /// Whether a device is removed from the folder.
    package var removals = false

    package init() {}
  }

  /// The kinds of histories.
  package enum Kind: String, CaseIterable {
    /// Edits of texts, attributes and places, and a carrier that delays.
    case edits
    case attachments
    /// Runs fail in the middle.
    case failures
    /// Files of stores are restored, or put back byte by byte.
    case restores
    /// Devices go on beside byte copies of themselves.
    case clones
    /// The carrier attacks until the end.
    case adversary
    /// A device is removed, and runs fail in the middle.
    case removals
    /// All of this together.
    case all

    package var options: Options {
      var options = Options()
      switch self {
      case .edits: break
      case .attachments: options.attachments = true
      case .failures: options.failures = true
      case .restores: options.restores = true
      case .clones: options.clones = true
      case .adversary: options.adversary = true
      case .removals: (options.devices, options.removals, options.failures) = (4, true, true)
      case .all:
        options.devices = 4
        (options.attachments, options.restores, options.clones) = (true, true, true)
        (options.failures, options.adversary) = (true, true)
      }
      return options
    }
  }

  /// Sets the random bytes by a seed, and the time of day.
  package typealias Conditions = (_ seed: UInt64, _ time: Timestamp) -> Void

  /// Runs a history, and returns what is wrong at its end and what happened.
  ///
  /// - Parameter conditions: Called before each act. The history is the same each time if they hold during the act.
  package static func outcome(
    _ seed: UInt64, _ kind: Kind, in place: URL, key: StoreKey, openOptions: OpenOptions,
    conditions: @escaping Conditions = { _, _ in }
  ) -> (fault: String?, log: [String]) {
    var log: [String] = []
    do {
      let history = try SimulatedHistory(
        seed, in: place, key: key, openOptions: openOptions, kind.options, conditions)
      defer { log = history.log }
      do {
        try history.run()
        if let fault = try history.fault() { return (fault, history.log) }
        return (
          history.problems.first { $0.kind != .removed }.map {
            "\($0.kind) of \($0.label) is a false alarm: \($0.advice)"
          }, history.log
        )
      } catch {
        return ("\(error)", history.log)
      }
    } catch {
      return ("\(error)", log)
    }
  }

  package let seed: UInt64
  private let options: Options
  private var random: Pseudorandom
  private let conditions: Conditions
  /// Chooses the conditions of acts.
  private var conditionsRandom: Pseudorandom
  /// The true time, which the clocks of some devices don't show.
  private var time = Timestamp(millisecondsSince1970: 1_767_225_600_000)
  private let place: URL
  private let key: StoreKey
  private let openOptions: OpenOptions
  package private(set) var devices: [SimulatedDevice] = []
  private var texts = 0
  /// The texts that a device edited or deleted while it showed them.
  private var replaced: Set<String> = []
  /// The texts, and the devices that wrote them.
  private var written: [String: String] = [:]
  private var backups: [(device: Int, file: Data)] = []
  /// What happened, for a failing seed.
  package private(set) var log: [String] = []
  /// The problems that runs reported.
  package private(set) var problems: [FolderSyncReport.Problem] = []

  private init(
    _ seed: UInt64, in place: URL, key: StoreKey, openOptions: OpenOptions, _ options: Options,
    _ conditions: @escaping Conditions
  ) throws {
    (self.seed, self.options, self.place, self.key, self.openOptions) = (seed, options, place, key, openOptions)
    random = Pseudorandom(seed: seed)
    self.conditions = conditions
    conditionsRandom = Pseudorandom(seed: ~seed)
    begin()
    let first = try SimulatedDevice(first: "d0", in: place, key: key, options: openOptions)
    add(first)
    for _ in 0..<3 { try edit(first) }
    try sync(first)
    for number in 1..<options.devices {
      let folder = SimulatedFolder("d\(number)")
      folder.contents = devices[random.number(below: devices.count)].folder.contents
      let before = places(in: folder)
      begin()
      add(
        try SimulatedDevice(
          joining: "d\(number)", folder: folder, first.invitation(), in: place, key: key, options: openOptions))
      noteChanges(in: folder, since: before)
    }
  }

  package func run() throws {
    for _ in 0..<options.steps { try step() }
    try settle()
  }

  /// Adds a device, whose clock can be years off.
  private func add(_ device: SimulatedDevice) {
    if conditionsRandom.number(below: 4) == 0 {
      device.clockError = Int64(conditionsRandom.number(below: 600_000_000)) - 300_000_000
      log.append("the clock of \(device.name) is off by \(device.clockError) s")
    }
    devices.append(device)
  }

  /// Begins an act of a device, or one before the device exists.
  private func begin(_ device: SimulatedDevice? = nil) {
    time.millisecondsSince1970 += Int64(conditionsRandom.number(below: 1000))
    if conditionsRandom.number(below: 5) == 0 { time.millisecondsSince1970 += 60_000 }
    var shown = time
    shown.millisecondsSince1970 += (device?.clockError ?? 0) * 1000
    conditions(conditionsRandom.next(), shown)
  }

  private func chance(_ percent: Int) -> Bool { random.number(below: 100) < percent }

  private func step() throws {
    let number = random.number(below: devices.count)
    let device = devices[number]
    begin(device)
    switch random.number(below: 100) {
    case ..<45: try edit(device)
    case ..<75:
      if options.failures, chance(20) { device.folder.callsUntilFailure = random.number(below: 8) }
      try sync(device)
    case ..<78 where options.restores:
      // The publication before a backup means that nothing but the device's own later edits can be missing in it.
      try sync(device)
      backups.append((number, try device.backup()))
    case ..<81 where options.restores && !backups.isEmpty:
      let backup = backups.remove(at: random.number(below: backups.count))
      begin(devices[backup.device])
      try sync(devices[backup.device])
      let isMarked = chance(50)
      log.append("put back \(devices[backup.device].name)\(isMarked ? " as restored" : "")")
      try devices[backup.device].putBack(backup.file, asRestored: isMarked)
    case ..<83 where options.clones && devices.count < 6:
      log.append("clone \(device.name) as d\(devices.count)")
      add(try SimulatedDevice(cloneOf: device, name: "d\(devices.count)", in: place))
    case ..<90 where options.adversary: attack(device)
    case ..<85 where options.removals && !hasRemoved: try remove(by: device)
    default: carry(from: device, to: devices[random.number(below: devices.count)])
    }
  }

  // MARK: Edits

  private func newText(_ device: SimulatedDevice) -> String {
    texts += 1
    let text = "text \(texts)"
    written[text] = device.name
    return text
  }

  private func edit(_ device: SimulatedDevice) throws {
    let notes: DocumentCollection = chance(70) ? "notes" : "plans"
    let headers = try device.store.read { reader in
      try reader.collections().contains { $0.name == notes.name } ? try reader.headers(in: notes) : []
    }
    let choice = random.number(below: 100)
    guard choice >= 30, !headers.isEmpty else {
      let text = newText(device)
      log.append("\(device.name): insert \(text)")
      return try device.store.write { tx in
        try tx.insert(
          Document(title: "title \(texts)", text: text, attributes: ["color": "red"]), into: notes)
      }
    }
    let header = headers[random.number(below: headers.count)]
    let old = try device.store.read { try $0.text(of: header.id) }
    switch choice {
    case ..<65:
      let text = newText(device)
      log.append("\(device.name): \(old) becomes \(text)")
      try device.store.write { tx in _ = try tx.update(header.id) { $0.text = text } }
      replaced.insert(old)
    case ..<75:
      log.append("\(device.name): delete \(old)")
      try device.store.write { try $0.delete(header.id) }
      replaced.insert(old)
    case ..<85:
      log.append("\(device.name): move \(old)")
      try device.store.write { tx in try tx.move(header.id, to: .top) }
    case ..<93 where options.attachments:
      log.append("\(device.name): attach to \(old)")
      let number = random.number(below: 1000)
      try device.store.write { tx in
        for one in try tx.attachments(of: header.id).prefix(1) where number % 3 == 0 { try tx.detach(one.id) }
        try tx.attach(
          [UInt8](repeating: UInt8(number % 256), count: number * 200), to: header.id, name: "file \(number)-\(texts)")
      }
    default:
      log.append("\(device.name): color of \(old)")
      let color = "color \(random.number(below: 1000))"
      try device.store.write { tx in _ = try tx.update(header.id) { $0.attributes["color"] = .string(color) } }
    }
  }

  // MARK: Removing

  /// Whether a device was removed.
  private var hasRemoved = false

  /// Lets a device remove another one.
  private func remove(by device: SimulatedDevice) throws {
    let others = try device.session().status().devices.filter { !$0.isThisStore }
    // A device that the others don't know yet is left out.
    guard others.count == devices.count - 1 || !others.isEmpty && chance(20) else { return }
    let other = others[random.number(below: others.count)]
    if options.failures, chance(50) { device.folder.callsUntilFailure = random.number(below: 16) }
    let before = places(in: device.folder)
    defer { noteChanges(in: device.folder, since: before) }
    do {
      _ = try device.session().remove(other.id)
      log.append("\(device.name): remove \(other.label)")
    } catch let error as StoreError where error.code == .ioFailure || error.code == .alreadyExists {
      log.append("\(device.name): remove \(other.label) failed, \(error.code)")
    }
    device.folder.callsUntilFailure = nil
    hasRemoved = try device.session().status().devices.contains { $0.isRemoved }
  }

  // MARK: Exchange

  private func sync(_ device: SimulatedDevice) throws {
    let before = places(in: device.folder)
    defer { noteChanges(in: device.folder, since: before) }
    let known = options.adversary ? try fileCounts(of: device) : [:]
    do {
      let report = try device.sync()
      device.folder.callsUntilFailure = nil
      problems += report.problems
      for problem in report.problems where options.adversary && problem.kind == .rolledBack {
        // The file was there under another name only.
        guard let last = known[problem.device], problem.number > last else { continue }
        misplaced.append("\(device.name) took \(problem.path)")
      }
      log.append(
        "\(device.name): sync, \(report.taken.count) taken, \(report.publishedDocuments) published"
          + (report.isNewDevice ? ", new device" : "")
          + report.problems.map { ", \($0.kind) \($0.device) \($0.number)\($0.kind == .damaged ? $0.advice : "")" }
          .joined())
    } catch let error as StoreError where error.code == .ioFailure || error.code == .alreadyExists {
      log.append("\(device.name): sync failed, \(error.code)")
    }
  }

  /// The files that runs took although their places were empty.
  private var misplaced: [String] = []

  /// Returns the numbers of the last files that a device knows.
  private func fileCounts(of device: SimulatedDevice) throws -> [SyncDevice.ID: UInt64] {
    Dictionary(uniqueKeysWithValues: try device.session().status().devices.map { ($0.id, $0.fileCount) })
  }

  /// Copies some files from one view of the folder to another, and removes those that are gone.
  private func carry(from source: SimulatedDevice, to target: SimulatedDevice, all: Bool = false) {
    guard source !== target else { return }
    for (subfolder, files) in source.folder.contents.sorted(by: { $0.key < $1.key }) {
      for (name, bytes) in files.sorted(by: { $0.key < $1.key }) where all || chance(70) {
        guard !removed.contains(Place(subfolder: subfolder, name: name)) else { continue }
        target.folder.contents[subfolder, default: [:]][name] = bytes
      }
    }
    for place in removed { target.folder.contents[place.subfolder]?[place.name] = nil }
    log.append("carry \(source.name) to \(target.name)")
  }

  /// The place of a file in the folder.
  private struct Place: Hashable, Comparable {
    let subfolder: String
    let name: String

    static func < (lhs: Place, rhs: Place) -> Bool { (lhs.subfolder, lhs.name) < (rhs.subfolder, rhs.name) }
  }

  /// The files that devices published.
  private var published: [Place: [UInt8]] = [:]
  /// The files that their authors removed.
  private var removed: Set<Place> = []

  private func places(in folder: SimulatedFolder) -> Set<Place> {
    var places: Set<Place> = []
    for (subfolder, files) in folder.contents {
      for name in files.keys { places.insert(Place(subfolder: subfolder, name: name)) }
    }
    return places
  }

  /// Notes what a device published and removed during a run.
  private func noteChanges(in folder: SimulatedFolder, since before: Set<Place>) {
    let after = places(in: folder)
    removed.formUnion(before.subtracting(after))
    for place in after.subtracting(before) {
      published[place] = folder.contents[place.subfolder]![place.name]!
    }
  }

  // MARK: Attacks

  /// Former states of the folder as devices saw them.
  private var views: [[String: [String: [UInt8]]]] = []

  /// Does something to a device's view of the folder that a carrier can do.
  private func attack(_ device: SimulatedDevice) {
    let folder = device.folder
    let places = places(in: folder).sorted()
    guard !places.isEmpty else { return }
    let (one, other) = (places[random.number(below: places.count)], places[random.number(below: places.count)])
    let bytes = folder.contents[one.subfolder]![one.name]!
    let kinds = [
      "cut", "change", "remove", "repeat", "exchange", "rename", "put back", "put back a device", "remember",
    ]
    let kind = kinds[random.number(below: kinds.count)]
    switch kind {
    case "cut": folder.contents[one.subfolder]![one.name] = Array(bytes[..<random.number(below: bytes.count + 1)])
    case "change":
      guard !bytes.isEmpty else { return }
      folder.contents[one.subfolder]![one.name]![random.number(below: bytes.count)] ^= 1
    case "remove": folder.contents[one.subfolder]![one.name] = nil
    case "repeat":
      folder.contents[one.subfolder]!["\(one.name) (conflict)"] = bytes
      folder.contents[other.subfolder]![one.name] = bytes
    case "exchange":
      folder.contents[one.subfolder]![one.name] = folder.contents[other.subfolder]![other.name]!
      folder.contents[other.subfolder]![other.name] = bytes
    case "rename":
      // Another name that could be one of a device's files.
      folder.contents[one.subfolder]![one.name] = nil
      folder.contents[one.subfolder]![String(one.name.reversed())] = bytes
    case "put back", "put back a device":
      guard !views.isEmpty else { return }
      let view = views[random.number(below: views.count)]
      if kind == "put back" { folder.contents = view } else { folder.contents[one.subfolder] = view[one.subfolder] }
    default: views.append(folder.contents)
    }
    log.append("attack on \(device.name): \(kind)")
  }

  /// Gives a device the folder as its authors left it.
  private func repair(_ device: SimulatedDevice) {
    device.folder.contents = [:]
    for (place, bytes) in published where !removed.contains(place) {
      device.folder.contents[place.subfolder, default: [:]][place.name] = bytes
    }
  }

  /// Exchanges everything until all devices have the same documents.
  private func settle() throws {
    log.append("settle")
    for _ in 0..<12 {
      problems = []
      for device in devices {
        repair(device)
        device.folder.callsUntilFailure = nil
        begin(device)
        try sync(device)
      }
    }
  }

  // MARK: Judging

  /// Returns what is wrong at the end, or `nil`.
  package func fault() throws -> String? {
    var contents: [[String]] = []
    var shown: Set<String> = []
    let members = try devices.filter { try !$0.session().status().devices[0].isRemoved }
    guard hasRemoved || members.count == devices.count else { return "a device was told that it was removed" }
    if let path = misplaced.first { return path }
    for device in members {
      contents.append(
        try device.store.read { reader in
          var lines: [String] = []
          for collection in try reader.collections() {
            for header in try reader.headers(in: DocumentCollection(collection.name)) {
              let attachments = try reader.attachments(of: header.id).map { "\($0.name) \($0.sha256.prefix(4))" }
              let text = try reader.text(of: header.id)
              shown.insert(text)
              lines.append(
                "\(collection.name): \(header.title ?? "-") = \(text) \(header.attributes) \(attachments.sorted())")
            }
          }
          return lines
        })
    }
    for (index, lines) in contents.enumerated().dropFirst() where lines != contents[0] {
      let differences = Set(lines).symmetricDifference(contents[0]).sorted()
      return "\(members[index].name) differs from \(members[0].name): \(differences.prefix(6))"
    }
    // What a removed device wrote can have come too late.
    let names = Set(members.map(\.name))
    let lost = written.keys.filter { !replaced.contains($0) && !shown.contains($0) && names.contains(written[$0]!) }
    guard lost.isEmpty else { return "lost \(lost.sorted())" }
    for device in devices {
      let verdict = try device.store.verify()
      guard verdict.isSound else { return "\(device.name) is damaged: \(verdict)" }
    }
    return nil
  }
}
