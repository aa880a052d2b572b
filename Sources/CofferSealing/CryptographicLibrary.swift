/// The library that computes: OpenSSL.
///
/// Its folder has the few types that call it, which hold no rule of the format.
package enum CryptographicLibrary {}
