internal import CofferFormats
internal import Synchronization

/// Counts incoming bytes for the progress bar. A signal can interrupt a wait for a pipe.
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

  /// - Parameter pipe: A descriptor that can block.
  init(_ source: any ByteSource, count: Count, waitingFor pipe: Int32? = nil) {
    self.source = source
    self.count = count
    self.pipe = pipe
  }

  mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
    if let pipe { Interrupt.waitForInput(pipe) }
    // End the input. ImportQueue checks for the interrupt before it uses the documents.
    if Interrupt.isRequested { return 0 }
    let got = try source.read(into: buffer)
    count.add(got)
    return got
  }
}
