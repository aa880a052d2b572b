internal import Coffer
internal import Dispatch

/// Waits on a separate thread until no other process holds the store, so that keys are taken meanwhile.
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
          // The read that follows gives the same error.
        }
        break
      }
      end.signal()
    }
  }

  deinit {
    task.cancel()
  }

  /// - Returns: whether the wait has ended; true is returned once.
  func hasEnded(within milliseconds: Int) -> Bool {
    end.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
  }
}

/// Another process holds the store.
struct Busy: Error {}
