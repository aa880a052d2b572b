// CofferPlatform: the system.
//
// Does: re-exports the C library, so that one file decides which library that is, and has every call that differs between
//       systems: locks, durability, renaming, files without a name, memory, processes and signals. Reads and writes all
//       bytes of a buffer, in spite of signals.
// Knows: the C libraries of Linux and of Apple's systems. Calls that Swift can't import, or that differ in more than a
//        name, are in CCofferPlatform.
// Doesn't know: Foundation (CofferFoundation), and the rest of the package.

@_exported public import CCofferPlatform

#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#elseif canImport(Darwin)
  @_exported public import Darwin
#endif
