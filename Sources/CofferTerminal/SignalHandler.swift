internal import CofferPlatform

/// A handler for a signal, and the action that it replaces.
///
/// A signal that the process ignores remains ignored, because a shell ignores SIGINT for background jobs, and `nohup`
/// ignores SIGHUP.
package struct SignalHandler {
  private let number: Int32
  private let former: sigaction

  @discardableResult
  package init(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
    self.number = number
    var former = sigaction()
    sigaction(number, nil, &former)
    self.former = former
    var action = sigaction()
    coffer_set_handler(&action, handler)
    if !coffer_is_ignored(&former) { sigaction(number, &action, nil) }
  }

  /// Restores the replaced action.
  package func restore() {
    var action = former
    sigaction(number, &action, nil)
  }
}
