#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A thread that is joined explicitly, or detached.
///
/// A closure written in top-level code is isolated to the main actor and would crash here: start threads from
/// functions.
package final class Thread: @unchecked Sendable {
  // @unchecked: `handle` is written before the object is returned, and read only by `join` and `detach`.
  private var handle: pthread_t?
  #if DEBUG
    /// The scheduler of a test, and its number for this thread.
    private let scheduled: (scheduler: any ThreadScheduler, thread: Int)?
  #endif

  /// Starts a thread that runs `body` once.
  ///
  /// - Throws: `SystemError` when the system cannot start another thread.
  package init(
    name: String, stackBytes: Int = 1 << 20, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    #if DEBUG
      let scheduled = Scheduling.scheduler.map { (scheduler: $0, thread: $0.start()) }
      self.scheduled = scheduled
      let run: @Sendable () -> Void = {
        guard let scheduled else { return body() }
        Scheduling.run(scheduled.thread, of: scheduled.scheduler, body)
      }
    #else
      let run = body
    #endif
    let box = Unmanaged.passRetained(Body(name: name, run: run))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, stackBytes)
    defer { pthread_attr_destroy(&attributes) }
    #if canImport(Darwin)
      var started: pthread_t?
    #else
      var started = pthread_t()
    #endif
    let code =
      System.failure(of: .thread)
      ?? pthread_create(&started, &attributes, startThread, box.toOpaque())
    guard code == 0 else {
      box.release()
      throw SystemError(operation: "start thread", path: "", code: code)
    }
    handle = started
  }

  /// Waits until the thread has ended. Called on that thread, it only detaches it. Call it once.
  package func join() {
    guard let handle else { return }
    self.handle = nil
    if pthread_equal(handle, pthread_self()) != 0 {
      pthread_detach(handle)
    } else {
      #if DEBUG
        if let scheduled, Scheduling.scheduler != nil {
          scheduled.scheduler.join(scheduled.thread)
        }
      #endif
      pthread_join(handle, nil)
    }
  }

  /// Lets the thread end on its own; call it instead of `join`.
  package func detach() {
    guard let handle else { return }
    self.handle = nil
    pthread_detach(handle)
  }
}

private final class Body: Sendable {
  let name: String
  let run: @Sendable () -> Void
  init(name: String, run: @escaping @Sendable () -> Void) {
    self.name = name
    self.run = run
  }
}

#if canImport(Darwin)
  private func startThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
    pthread_setname_np(body.name)
    body.run()
    return nil
  }
#else
  private func startThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
    // glibc's pthread_setname_np is hidden from Swift: threads stay unnamed on Linux.
    body.run()
    return nil
  }
#endif
