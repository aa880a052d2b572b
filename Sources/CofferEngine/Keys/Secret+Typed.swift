public import CofferSealing

extension Secret {
  /// Creates a secret from text typed into a text field.
  ///
  /// - Warning: A `String` can't be erased. `text` and all copies made by the field and the system remain in memory
  ///   until the memory is reused, and may reach swap or a core dump. If possible, use
  ///   ``init(byteCount:initializingWith:)`` to read the bytes directly.
  public convenience init(typed text: String) {
    let count = text.utf8.count
    self.init(byteCount: count) { memory in
      var text = text
      text.withUTF8 { memory.copyMemory(from: UnsafeRawBufferPointer($0)) }
      return count
    }
  }
}
