package import CofferSealing

extension TextDigest {
  /// A digest of no text, for states that name no replicas.
  package static var zeros: TextDigest {
    [UInt8](repeating: 0, count: byteCount).withUnsafeBytes { TextDigest(bytes: $0) }
  }
}
