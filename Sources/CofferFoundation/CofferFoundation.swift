// CofferFoundation: the part of Foundation that the package uses, such as `URL`, `Data` and `Date`.
//
// Does: re-exports FoundationEssentials, which starts faster than Foundation because it contains no ICU, or Foundation on
//       systems that don't have FoundationEssentials.
// Doesn't know: the rest of the package. The targets below CofferEngine don't use Foundation.

#if canImport(FoundationEssentials)
  @_exported public import FoundationEssentials
#else
  @_exported public import Foundation
#endif
