/// Keeps an observer going: as long as the token lives, and until `stop`.
///
/// Thread rule: belongs to its session, as everything that the session gives; releasing it on another
/// thread does no harm.
public final class NotificationToken {
  let session: Session
  let observer: any Observer
  /// True when the session keeps the observer going.
  var isKept = false

  init(session: Session, observer: any Observer) {
    self.session = session
    self.observer = observer
  }

  deinit { if !isKept { observer.stop() } }

  /// Ends the observer and releases what it holds, its version included. One that is being called just then
  /// on a queue ends after that call.
  public func stop() { observer.stop() }
}

@available(*, unavailable, message: "a notification token belongs to its session's thread")
extension NotificationToken: Sendable {}

/// What a token controls.
protocol Observer: AnyObject {
  var isStopped: Bool { get }
  /// Ends it: its call is released, and the version that it was last told of. May be called from any thread.
  func stop()
  /// Nothing that is committed from now on may be delivered before `endSilence`.
  func beginSilence()
  /// The change from one version to another is not to be delivered: the session's own commit.
  func endSilence(from: Snapshot, to: Snapshot)
}

/// Finds out what changed for an observer from version to version.
protocol Tracker: AnyObject, SendableMetatype {
  associatedtype Change
  /// What changed since the last call; nil when there is nothing to tell.
  func advance(to snapshot: Snapshot, sharing cache: DifferenceCache?) throws -> Change?
  /// True when nothing follows what `advance` told last.
  var hasEnded: Bool { get }
}

/// What a tracker tells its observer, and where: in a session, or of a version.
enum TrackerEvent<Change, Place> {
  case change(Change, Place)
  case failed(any Error)
}
