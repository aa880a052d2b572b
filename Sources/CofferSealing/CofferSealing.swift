// CofferSealing: keys and cryptography.
//
// Does: holds secret bytes in locked memory, derives keys, seals and opens with XAES-256-GCM, wraps the root key in
//       slots, keeps the keyring of epochs, sums the set hash, reads key files. The only module that uses OpenSSL.
// Knows: the parts of FORMAT.md headed "Conventions" and "Keys".
// Does not know: rows, SQL, documents, files of data.
//
// First file to read: XAESKey.swift; then RootKey.swift and KeySlotRecord.swift.
