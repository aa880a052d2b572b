internal import Coffer
internal import Dispatch

/// Waits for other processes to release the store on a separate thread, so the browser can read keys concurrently.
final class LockProbe: Sendable {
  private let end = DispatchSemaphore(value: 0)
  private let task: Task<Void, Never>

  init(_ store: DocumentStore) {
    task = Task.detached { [end] in
      while !Task.isCancelled {
        do {
          try await store.read { _ in }
        } catch let error as StoreError where error.code == .locked {
          try? await Task.sleep(for: .milliseconds(20))
          continue
        } catch {
          // Ignore the error, because the following read throws the same error.
        }
        break
      }
      end.signal()
    }
  }

  deinit {
    task.cancel()
  }

  /// Returns whether the wait ended within the given time. Returns `true` only once.
  func hasEnded(within milliseconds: Int) -> Bool {
    end.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
  }
}

/// The error of a read while another process holds the store.
struct Busy: Error {}
