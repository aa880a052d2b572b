package import CofferEngine
package import CofferFoundation
internal import CofferRecords

// MARK: - Releases

extension DocumentStore {
  /// Verifies the store in full, and signs its contents as its next release.
  ///
  /// Whoever opens a copy of the store with ``OpenOptions/publisher`` then knows that these are the documents that the
  /// owner of the signing key released, whatever keys and IDs the copy has. Editing the store doesn't change its
  /// releases; it's no longer as released until the next one.
  ///
  /// - Parameters:
  ///   - key: The signing key.
  ///   - time: The time of the release, which is after the previous release.
  ///   - expires: The time after which readers should expect a newer release, or `nil`.
  ///   - next: The publisher of the following releases if the signing key changes.
  ///   - progress: Called after each batch. Throwing from it leaves the store unchanged.
  /// - Throws: The error of ``Verdict/error`` if the store isn't sound. `invalidArgument` for another key than readers
  ///   expect, a time that isn't later, or documents of which two copies could read differently. `testKeyRefused` for a
  ///   test key of a store that isn't a TEST store. `misuse` if the store changes meanwhile.
  @discardableResult
  package func makeRelease(
    signedBy key: SigningKey, at time: Timestamp = Timestamp(Date()), expires: Timestamp? = nil,
    next: Publisher? = nil, progress: ProgressHandler? = nil
  ) throws(StoreError) -> Release {
    let verdict = try verify(.full, progress: progress)
    if let error = verdict.error { throw error }
    guard let state = verdict.verifiedState else { preconditionFailure("internal error: a sound store has a state") }
    return try engine.addRelease(of: state, signedBy: key, at: time, expires: expires, next: next, progress: progress)
  }

  /// The release that the store was opened as, or `nil` without ``OpenOptions/publisher``.
  package var release: Release? { engine.release }

  /// Returns the releases of the store at `url`, without a key and without checking signatures.
  ///
  /// - Throws: Like ``info(at:wait:)``. `damaged` for a release that isn't one.
  package static func releases(at url: URL, wait: Duration? = .seconds(10)) throws(StoreError) -> [Release] {
    try StoreEngine.releases(at: url.path, wait: wait)
  }
}
