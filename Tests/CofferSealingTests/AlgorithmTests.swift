#if !SwiftCrypto
  import Synchronization
  import Testing

  @testable import CofferSealing

  @Suite struct AlgorithmTests {
    @Test func retriesFailedFetch() throws {
      let isShort = Atomic<Bool>(true)
      let fetches = Atomic<Int>(0)
      let algorithm = Algorithm("AES-256-GCM") {
        fetches.add(1, ordering: .relaxed)
        return isShort.load(ordering: .relaxed) ? nil : OpaquePointer(bitPattern: 1)
      }
      do throws(SealingError) {
        _ = try algorithm.pointer()
        Issue.record("an algorithm that is not there")
      } catch {
        #expect(error.code == .systemFailure && error.message.contains("AES-256-GCM"))
      }
      isShort.store(false, ordering: .relaxed)
      for _ in 0..<3 { #expect(try algorithm.pointer() == OpaquePointer(bitPattern: 1)) }
      #expect(fetches.load(ordering: .relaxed) == 2)
    }
  }
#endif
