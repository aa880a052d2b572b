// CofferReplication: stores that a replication program copies to other machines. It's a separate product.
//
// Does: confirms commits with the program, adopts verified copies of a followed file, promotes a copy for writing after
//       a failover, and lists the documents that changed since an earlier state.
// Knows: folders of copies and their link (ReplicaFolder, ReplicaCopies), Litestream's control socket
//        (LitestreamSocket, LocalHTTP), anchors and phases. CofferEngine verifies and writes.
// Doesn't know: replication itself, which Litestream does, and other machines. Other targets don't use sockets.
//
// First file to read: ReplicaFolder.swift, then Adopting.swift and StoreEngine+Promotion.swift.
