package import CofferDocuments
internal import CofferText

/// A collection's settings (FORMAT, "Collections").
package struct CollectionSettings: Sendable, Hashable {
  package var titleRule: TitleRule
  package var foldsKeys: Bool
  /// The sort key among collections. Collections with equal keys are sorted by number.
  package var order: Int64
  /// Custom data.
  package var attributes: Attributes

  /// The integers that a double represents exactly.
  package static let orders: ClosedRange<Int64> = -(1 << 53) + 1...(1 << 53) - 1

  package init(
    titleRule: TitleRule = .asGiven, foldsKeys: Bool = false, order: Int64 = 0, attributes: Attributes = Attributes()
  ) {
    self.titleRule = titleRule
    self.foldsKeys = foldsKeys
    self.order = order
    self.attributes = attributes
  }

  /// The settings as JSON (RFC 8785), sorted and without spaces. Omits order 0 and empty attributes.
  var canonicalJSON: [UInt8] {
    var output = Array("{".utf8)
    if !attributes.isEmpty {
      output += #""attributes":"#.utf8
      output += attributes.canonicalJSON
      output += ",".utf8
    }
    output += #""folding":\#(foldsKeys ? 1 : 0),"#.utf8
    if order != 0 { output += #""order":\#(order),"#.utf8 }
    output += #""title":\#(titleRule.rawValue)}"#.utf8
    return output
  }

  /// A Boolean value that indicates whether the settings can be reread.
  ///
  /// They can't if the attributes have the maximum depth, because the settings add another object around them.
  package var isReadable: Bool {
    canonicalJSON.withUnsafeBytes { CollectionSettings($0) } == self
  }

  /// Reads canonical JSON, or returns `nil` for other bytes.
  init?(_ json: UnsafeRawBufferPointer) {
    guard UTF8Validity.isValid(json), Attributes.isCanonical(json) else { return nil }
    func number(_ name: String) -> Int? {
      guard let range = JSONPath(member: name).find(in: json)?.range else { return nil }
      return Int(String(decoding: json[range], as: UTF8.self))
    }
    guard let folding = number("folding"), let rule = number("title").flatMap(TitleRule.init(rawValue:)) else {
      return nil
    }
    let own = JSONPath(member: "attributes").find(in: json)
    let settings = CollectionSettings(
      titleRule: rule, foldsKeys: folding == 1, order: Int64(number("order") ?? 0),
      attributes: own.map { Attributes(uncheckedCanonicalJSON: json[$0.range]) } ?? Attributes())
    // Accept only the bytes that a writer creates for these settings.
    guard own.map({ $0.kind == .object && $0.range.count > 2 }) ?? true, Self.orders.contains(settings.order),
      settings.attributes.canonicalJSON.count <= StoreFormat.maximumCollectionData,
      settings.canonicalJSON.elementsEqual(json)
    else { return nil }
    self = settings
  }
}
