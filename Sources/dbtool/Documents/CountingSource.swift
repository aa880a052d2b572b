internal import CofferFormats
internal import Synchronization

/// Bytes on their way in, counted for the progress bar.
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

  init(_ source: any ByteSource, count: Count) {
    self.source = source
    self.count = count
  }

  mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
    let got = try source.read(into: buffer)
    count.add(got)
    return got
  }
}
