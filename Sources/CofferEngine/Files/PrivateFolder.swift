internal import CofferPlatform
internal import CofferRecords

/// A new directory for temporary sealed files that only this user can enter, removed with its files.
///
/// If the process is killed, the directory remains in the temporary folder until the next directory is created there.
package final class PrivateFolder: Sendable {
  private let entry: TemporaryEntry

  package init() throws(StoreError) {
    let folder = TemporaryFolder.path
    TemporaryEntry.removeAbandoned(in: folder)
    guard let entry = TemporaryEntry(folder: folder + "/" + TemporaryName.privateCopy()) else {
      throw StagedFile.failure(folder)
    }
    self.entry = entry
  }

  deinit {
    remove()
  }

  package func path(of name: String) -> String { entry.path + "/" + name }

  /// Removes the directory, unless it was removed before.
  func remove() {
    entry.removeFolder()
  }
}
