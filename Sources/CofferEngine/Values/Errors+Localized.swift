public import CofferFoundation
public import CofferRecords
public import CofferSealing

// Provides `localizedDescription` for code that handles errors as `Error`.

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
