// CofferPlatform: the system's C library.
//
// Does: re-exports the C library, so that one file decides which library that is.
// Knows: the names of the C libraries of Linux and of Apple's systems.
// Doesn't know: Foundation (CofferFoundation), and the rest of the package.

#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#elseif canImport(Darwin)
  @_exported public import Darwin
#endif
