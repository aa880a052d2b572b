// CofferPlatform: the system.
//
// Does: re-exports the C library, so only one file determines the library, and wraps all calls that differ between
//       systems: locks, durability, renaming, unnamed files, memory, processes and signals. Reads and writes all bytes
//       of a buffer despite signals.
// Knows: the C libraries of Linux and of Apple's systems. Calls that Swift can't import, or that differ in more than
//        their name, are in CCofferPlatform.
// Doesn't know: Foundation (CofferFoundation), and the rest of the package.

@_exported public import CCofferPlatform

#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#elseif canImport(Darwin)
  @_exported public import Darwin
#endif
