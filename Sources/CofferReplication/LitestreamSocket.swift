internal import Coffer
internal import CofferEngine
internal import CofferFoundation
internal import CofferRecords

/// Litestream's control socket, which uses HTTP with JSON and one request per connection.
struct LitestreamSocket {
  private struct SyncRequest: Encodable {
    let path: String
    /// Whether to wait for the replica in addition to the local copy.
    let wait = true
    /// The timeout in seconds.
    let timeout: Int
  }

  private struct SyncResponse: Decodable {
    let status: String
    let path: String
    /// The last transactions that Litestream has read from the log, and that the replica contains.
    let txid: UInt64
    let replicatedTXID: UInt64

    enum CodingKeys: String, CodingKey {
      case status, path, txid
      case replicatedTXID = "replicated_txid"
    }
  }

  private struct ListResponse: Decodable {
    struct Database: Decodable { let path: String }
    let databases: [Database]
  }

  private struct ErrorResponse: Decodable { let error: String }

  private let socket: LocalHTTP
  private let timeout: Duration

  init(path: String, timeout: Duration) {
    socket = LocalHTTP(path: path, deadline: ContinuousClock.now + timeout)
    self.timeout = timeout
  }

  /// Waits until the replica contains all of the log's transactions.
  ///
  /// - Throws: `notConfirmed`, `cancelled`.
  func synchronize(_ path: String) throws(StoreError) {
    let response: SyncResponse
    if let found = try synchronized(path) {
      response = found
    } else {
      // The configuration may use another path with a link to the file.
      guard let other = try pathOfSameFile(as: path), let found = try synchronized(other) else {
        throw refused(
          "it does not replicate \(path)", hint: "add the store to Litestream's configuration and start it again")
      }
      response = found
    }
    guard ["synced", "no_change"].contains(response.status) else {
      throw refused("its answer was “\(LocalHTTP.excerpt(response.status))”")
    }
    guard response.txid > 0, response.replicatedTXID >= response.txid else {
      throw refused("the replica has transaction \(response.replicatedTXID) of \(response.txid)", hint: "try again")
    }
  }

  /// - Returns: `nil` if Litestream doesn't have a database with this path.
  private func synchronized(_ path: String) throws(StoreError) -> SyncResponse? {
    let request = SyncRequest(path: path, timeout: max(1, Int(timeout.components.seconds)))
    guard let body = try? JSONEncoder().encode(request) else { throw refused("its request can't be written") }
    let answer = try socket.exchange("POST", "/sync", [UInt8](body))
    guard answer.status != 404 else { return nil }
    let response: SyncResponse = try decoded(answer)
    guard response.path == path else { throw refused("it answered for \(LocalHTTP.excerpt(response.path))") }
    return response
  }

  private func pathOfSameFile(as path: String) throws(StoreError) -> String? {
    let mark = try FileMark(path)
    let list: ListResponse = try decoded(try socket.exchange("GET", "/list", []))
    return list.databases.map(\.path).first { other in
      other != path && ((try? FileMark(other))?.isSameFile(as: mark) ?? false)
    }
  }

  private func decoded<T: Decodable>(_ answer: LocalHTTP.Answer) throws(StoreError) -> T {
    let body = Data(answer.body)
    guard answer.status == 200 else {
      let reason = (try? JSONDecoder().decode(ErrorResponse.self, from: body)).map {
        ": \(LocalHTTP.excerpt($0.error))"
      }
      throw refused("it answered with status \(answer.status)\(reason ?? "")", hint: "look at Litestream's log")
    }
    guard let value = try? JSONDecoder().decode(T.self, from: body) else {
      throw refused("its answer is not one of Litestream 0.5", hint: "\(socket.path) may be another program's socket")
    }
    return value
  }

  private func refused(_ reason: String, hint: ErrorHint? = nil) -> StoreError {
    StoreError(.notConfirmed, "Litestream did not confirm the commits: \(reason)", hint: hint)
  }
}
