/// Where in its collection's order a document goes.
public enum Placement: Hashable, Sendable {
  case top
  case bottom
  case before(DocumentID)
  case after(DocumentID)
}
