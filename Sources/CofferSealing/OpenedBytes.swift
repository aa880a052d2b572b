internal import CCofferOpenSSL

/// A copy of an opened text, wiped with its last owner.
package final class OpenedBytes: @unchecked Sendable {
  // Never changed after it is made.
  package let bytes: UnsafeRawBufferPointer

  package init(copying bytes: UnsafeRawBufferPointer) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    memory.copyMemory(from: bytes)
    self.bytes = UnsafeRawBufferPointer(memory)
  }

  deinit {
    if let start = bytes.baseAddress { OPENSSL_cleanse(UnsafeMutableRawPointer(mutating: start), bytes.count) }
    bytes.deallocate()
  }
}
