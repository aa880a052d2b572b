/// What a collection's documents are sorted by.
///
/// Texts and titles go by their code points, as stored: no language's rules, no folding of case or composition.
public enum DocumentOrder: Sendable, Hashable {
  case id
  /// Documents without a title first.
  case title
  /// The whole text.
  case text
  case created
  case modified
  /// The length of the text in bytes.
  case size
  /// Documents without a key first; keys by their bytes.
  case key
  /// A value within texts that are JSON: first documents without it and null, then false, true, numbers by value,
  /// strings by their code points, and what is an array or object by its JSON.
  case json(JSONPath)
}
