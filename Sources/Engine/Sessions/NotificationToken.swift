/// Keeps an observer alive: as long as the token lives, and until `stop`.
///
/// Thread rule: belongs to its session, like everything that the session gives; it may be released on any
/// thread.
public final class NotificationToken {
  let session: Session
  let observer: any Observer
  /// True when the session keeps the observer alive.
  var isKept = false

  init(session: Session, observer: any Observer) {
    self.session = session
    self.observer = observer
  }

  deinit { if !isKept { observer.stop() } }

  /// Ends the observer and releases what it holds, its version included. An observer that a queue is just
  /// calling ends after that call.
  public func stop() { observer.stop() }
}

@available(*, unavailable, message: "a notification token belongs to its session's thread")
extension NotificationToken: Sendable {}

/// The observer behind a token.
protocol Observer: AnyObject {
  var isStopped: Bool { get }
  /// Ends the observer: releases its call and the version that it last reported. May be called from any
  /// thread.
  func stop()
  /// Until `endSilence`, nothing that is committed from now on may be delivered.
  func beginSilence()
  /// The change from one version to another, the session's own commit, is not delivered.
  func endSilence(from: Snapshot, to: Snapshot)
}

/// Computes the changes for an observer from version to version.
protocol Tracker: AnyObject, SendableMetatype {
  associatedtype Change
  /// The change since the last call; nil when there is nothing to report.
  func advance(to snapshot: Snapshot, sharing cache: DifferenceCache?) throws -> Change?
  /// True when nothing follows the last result of `advance`.
  var hasEnded: Bool { get }
}

/// A tracker's report to its observer, with what its values are read from: a session, or a version.
enum TrackerEvent<Change, Reader> {
  case change(Change, Reader)
  case failed(any Error)
}
