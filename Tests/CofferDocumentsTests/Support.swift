import CofferDocuments
import CofferTestSupport
import Foundation

/// Scans a text as a single JSON value.
func scan(_ text: some Sequence<UInt8>) throws(JSONError) -> JSONScanner.Kind {
  let bytes = Array(text)
  let result: Result<JSONScanner.Kind, JSONError> = bytes.withUnsafeBytes { buffer in
    do throws(JSONError) {
      var scanner = JSONScanner(buffer)
      return .success(try scanner.scanDocument().kind)
    } catch {
      return .failure(error)
    }
  }
  return try result.get()
}

func scan(_ text: String) throws(JSONError) -> JSONScanner.Kind {
  try scan(Array(text.utf8))
}

/// Returns the error of scanning a text.
func scanError(_ text: String) -> JSONError? {
  do throws(JSONError) {
    _ = try scan(text)
    return nil
  } catch {
    return error
  }
}
