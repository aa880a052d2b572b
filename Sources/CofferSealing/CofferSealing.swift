// CofferSealing: keys and cryptography.
//
// Does: stores secret bytes in locked memory, derives keys, seals and opens with XAES-256-GCM, wraps the root key in
//       slots, manages the keyring of epochs, computes the set hash, reads key files, normalizes passphrases (NFC).
//       Only this module uses OpenSSL or swift-crypto. Each library has a folder with the same few types.
// Knows: FORMAT, "Conventions", "Primitives", "Keys", "Keyring", "Slots", "Key files, pin, anchor" and "Set hash".
// Doesn't know: rows, SQL, documents, data files.
//
// First file to read: XAESKey.swift, then RootKey.swift and KeySlotRecord.swift.
