/// Keeps an observer alive while the token exists, until `stop`.
///
/// Thread rule: confined to its session's thread or queue; it may be released on any thread.
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

  /// Ends the observer and releases what it holds, including its version. If a queue is calling the observer,
  /// it ends after that call.
  public func stop() { observer.stop() }
}

@available(*, unavailable, message: "a notification token belongs to its session's thread")
extension NotificationToken: Sendable {}

/// The observer behind a token.
protocol Observer: AnyObject {
  var isStopped: Bool { get }
  /// Ends the observer: releases its call and the version that it last reported. May be called on any thread.
  func stop()
  /// Commits from now on must not be delivered until `endSilence`.
  func beginSilence()
  /// Excludes the change between two versions, the session's own commit, from delivery.
  func endSilence(from: Snapshot, to: Snapshot)
}

/// Computes the changes for an observer, from version to version.
protocol Tracker: AnyObject, SendableMetatype {
  associatedtype Change
  /// The change since the last call; nil when there is nothing to report.
  func advance(to snapshot: Snapshot, sharing cache: DifferenceCache?) throws -> Change?
  /// True when nothing follows the last result of `advance`.
  var hasEnded: Bool { get }
}

/// A tracker's report to its observer, with the session or version from which its values are read.
enum TrackerEvent<Change, Reader> {
  case change(Change, Reader)
  case failed(any Error)
}
