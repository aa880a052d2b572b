/// Normalization form C (Unicode Standard Annex 15), for passphrases and folded keys.
///
/// The standard library normalizes only Strings, through a private interface, and a String's storage can't be wiped.
/// Assigned characters keep their form (Unicode's stability policy).
package enum NormalizationFormC {
  /// The first scalar that normalization may change. Lower scalars are already composed.
  private static let firstChanged: UInt32 = 0x300

  package static func normalized(_ scalars: [UInt32]) -> [UInt32] {
    guard scalars.contains(where: { $0 >= firstChanged }) else { return scalars }
    return [UInt32](unsafeUninitializedCapacity: CanonicalForms.maximumParts * scalars.count) { buffer, count in
      for scalar in scalars { count += CanonicalForms.shared.decompose(scalar, into: buffer.baseAddress! + count) }
      count = compose(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// Normalizes text in memory that the caller owns and wipes.
  ///
  /// - Parameter scalars: A buffer with space for ``CanonicalForms/maximumParts`` scalars for each scalar in the text.
  /// - Returns: The number of scalars in the normalized text.
  package static func normalize(_ utf8: UnsafeRawBufferPointer, into scalars: UnsafeMutableBufferPointer<UInt32>) -> Int
  {
    var count = 0
    var decoder = UTF8()
    var iterator = utf8.makeIterator()
    while case .scalarValue(let scalar) = decoder.decode(&iterator) {
      count += CanonicalForms.shared.decompose(scalar.value, into: scalars.baseAddress! + count)
    }
    return compose(UnsafeMutableBufferPointer(rebasing: scalars[..<count]))
  }

  /// Composes decomposed scalars in place.
  private static func compose(_ scalars: UnsafeMutableBufferPointer<UInt32>) -> Int {
    order(scalars)
    return composeOrdered(scalars)
  }

  /// Sorts the marks between two starters by combining class. Marks with the same class keep their order.
  package static func order(_ scalars: UnsafeMutableBufferPointer<UInt32>) {
    for index in scalars.indices.dropFirst() {
      let scalar = scalars[index]
      let combiningClass = CanonicalForms.combiningClass(scalar)
      guard combiningClass > 0 else { continue }
      var place = index
      while place > 0, CanonicalForms.combiningClass(scalars[place - 1]) > combiningClass {
        scalars[place] = scalars[place - 1]
        place -= 1
      }
      scalars[place] = scalar
    }
  }

  /// Composes each scalar with the last starter, unless a scalar between them blocks it.
  private static func composeOrdered(_ scalars: UnsafeMutableBufferPointer<UInt32>) -> Int {
    var used = 0
    var starter: Int?
    // The combining class of the last scalar after the starter, or `nil` if there isn't one.
    var last: UInt8?
    for index in scalars.indices {
      let scalar = scalars[index]
      let combiningClass = CanonicalForms.combiningClass(scalar)
      let isReachable = last.map { $0 < combiningClass } ?? true
      if let place = starter, isReachable, let composite = CanonicalForms.shared.composite(scalars[place], scalar) {
        scalars[place] = composite
        continue
      }
      scalars[used] = scalar
      if combiningClass == 0 {
        starter = used
        last = nil
      } else {
        last = combiningClass
      }
      used += 1
    }
    return used
  }
}
