internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import Synchronization

/// A progress bar on standard error, shown on a terminal after the first second. With `--progress json`, one object per
/// line for other programs, with the last object at the end.
final class Progress {
  enum Style: String, CaseIterable, ExpressibleByArgument {
    case auto, json, none
  }

  private static let delay = Duration.seconds(1)
  private static let interval = Duration.milliseconds(100)

  private static let isShown = Atomic<Bool>(false)

  private let task: String
  /// The unit in the singular.
  private let unit: String
  private let style: Style
  private let start = ContinuousClock.now
  private var lastShown: ContinuousClock.Instant?
  /// The last update if it wasn't shown because it followed another update too soon.
  private var skippedUpdate: (done: Int, total: Int?, fraction: Double?)?

  init(_ task: String, unit: String, style: Style, isQuiet: Bool) {
    self.task = task
    self.unit = unit
    let canShow = Terminal.standardErrorIsTerminal && !isQuiet
    self.style = style == .auto ? (canShow ? .auto : .none) : style
  }

  func update(_ progress: WorkProgress) {
    update(progress.done, of: progress.total)
  }

  /// Updates the bar. The cost is low enough to update after every batch.
  ///
  /// - Parameter fraction: The finished fraction, from 0 to 1, if known.
  func update(_ done: Int, of total: Int? = nil, fraction: Double? = nil) {
    guard style != .none else { return }
    let fraction = fraction ?? total.map { $0 == 0 ? 1 : Double(done) / Double($0) }
    let now = ContinuousClock.now
    guard now - start > (style == .json ? .zero : Self.delay), now - (lastShown ?? start) > Self.interval else {
      skippedUpdate = (done, total, fraction)
      return
    }
    skippedUpdate = nil
    lastShown = now
    show(done, of: total, fraction: fraction, at: now)
  }

  /// Clears the bar. With `--progress json`, always prints the last state.
  func finish() {
    if style == .json, let (done, total, fraction) = skippedUpdate {
      skippedUpdate = nil
      show(done, of: total, fraction: fraction, at: .now)
    }
    Self.clear()
  }

  /// Clears a visible bar to print another line.
  static func clear() {
    if isShown.exchange(false, ordering: .relaxed) {
      writeRaw("\r\u{1B}[K")
    }
  }

  private func show(_ done: Int, of total: Int?, fraction: Double?, at now: ContinuousClock.Instant) {
    let seconds = Self.seconds(now - start)
    let rate = Double(done) / seconds
    let left = fraction.flatMap { $0 > 0 ? seconds * (1 - $0) / $0 : nil }
    if style == .json {
      let facts: [(String, JSONValue?)] = [
        ("task", .string(task)), ("done", .integer(done)), ("total", total.map { .integer($0) }),
        ("fraction", fraction.map { .number($0) }), ("rate", .number(rate.rounded())),
        ("seconds", .number(Self.tenths(seconds))), ("seconds_left", left.map { .number(Self.tenths($0)) }),
      ]
      return Diagnostics.print(.object([("progress", .object(present: facts))]))
    }
    var line = "\(task) "
    if let fraction {
      line += Self.bar(fraction) + " \(Int(fraction * 100)) % "
    }
    line += " \(counted(done, unit)), \(Int(rate))/s"
    if let left {
      line += ", \(Self.clock(left)) left"
    }
    let width = max(10, Terminal.width(of: STDERR_FILENO) - 1)
    Self.isShown.store(true, ordering: .relaxed)
    Self.writeRaw("\r" + line.prefix(width) + "\u{1B}[K")
  }

  private static func bar(_ fraction: Double) -> String {
    let filled = min(20, max(0, Int(fraction * 20)))
    return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: 20 - filled) + "]"
  }

  private static func clock(_ seconds: Double) -> String {
    let whole = Int(seconds.rounded(.up))
    let rest = whole % 60
    return "\(whole / 60):" + (rest < 10 ? "0" : "") + "\(rest)"
  }

  private static func seconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
  }

  private static func tenths(_ value: Double) -> Double {
    (value * 10).rounded() / 10
  }

  private static func writeRaw(_ text: String) {
    var text = text
    text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
