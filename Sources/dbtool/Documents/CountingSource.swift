internal import CofferFormats
internal import Synchronization

/// Bytes on their way in, counted for the progress bar; a pipe that gives nothing can be interrupted.
struct CountingSource: ByteSource {
  final class Count: Sendable {
    private let bytes = Atomic<Int>(0)

    func add(_ count: Int) {
      bytes.wrappingAdd(count, ordering: .relaxed)
    }

    var value: Int { bytes.load(ordering: .relaxed) }
  }

  private var source: any ByteSource
  private let count: Count
  private let pipe: Int32?

  /// - Parameter pipe: a descriptor that may let us wait.
  init(_ source: any ByteSource, count: Count, waitingFor pipe: Int32? = nil) {
    self.source = source
    self.count = count
    self.pipe = pipe
  }

  mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
    if let pipe { Interrupt.waitForInput(pipe) }
    // Ends the input here; whoever reads documents looks at the interrupt before using them.
    if Interrupt.isRequested { return 0 }
    let got = try source.read(into: buffer)
    count.add(got)
    return got
  }
}
