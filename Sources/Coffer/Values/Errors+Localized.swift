public import CofferRecords
public import CofferSealing
public import FoundationEssentials

// The sentence of an error, for code that knows it only as an `Error`: `localizedDescription` gives it.

extension StoreError: LocalizedError {
  public var errorDescription: String? { description }
  public var recoverySuggestion: String? { hint }
}

extension SealingError: LocalizedError {
  public var errorDescription: String? { description }
}

extension JSONError: LocalizedError {
  public var errorDescription: String? { description }
}
