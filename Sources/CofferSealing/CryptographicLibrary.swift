/// The cryptographic library, which is OpenSSL, or swift-crypto with the package's trait `SwiftCrypto`.
///
/// Each library has a folder with the same few types, which don't contain format rules.
package enum CryptographicLibrary {}

#if !OpenSSL && !SwiftCrypto
  #error("Coffer needs the trait OpenSSL, which is the default, or SwiftCrypto")
#endif
