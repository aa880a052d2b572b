/// The library that computes: OpenSSL, or swift-crypto with the package's trait `SwiftCrypto`.
///
/// Each has a folder with the same few types, which hold no rule of the format.
package enum CryptographicLibrary {}

#if !OpenSSL && !SwiftCrypto
  #error("Coffer needs the trait OpenSSL, which is the default, or SwiftCrypto")
#endif
