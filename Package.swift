// swift-tools-version: 6.2

import PackageDescription

// Small programs that each tell one story of how to use the libraries; no products.
let stories = [
  "FreezeAndFanOut", "ImportWithProgress", "NestedTransaction", "NoStaleCopy", "PassReference",
  "PollOrRefresh", "SilentWrite", "UploadWorker",
]

// `SHEAF_PACKAGE=libraries` leaves the command and all other programs out, with their tests;
// `SHEAF_PACKAGE=threads` also all tests but those of what starts threads or waits for others. `.ci/run`
// builds what is left under sanitizers, in half the time and less.
let selection = Context.environment["SHEAF_PACKAGE"]
let isWhole = selection != "libraries" && selection != "threads"

// What ThreadSanitizer looks at; all files of a target where nil.
let engineThreadTests = [
  "Background.swift", "Faults/FailingStorage.swift", "Faults/RecordingStorage.swift", "Sessions",
  "Versions",
  "Database/AsyncWriteTests.swift", "Database/ConnectionTests.swift",
  "Database/ListenerTests.swift", "Database/AllPlaces.swift", "Faults/TinyLimits.swift",
  "Database/ReplacedFileTests.swift",
  "Database/WatcherTests.swift", "Transactions/WriterTests.swift",
]
let importerThreadTests = [
  "CSV/ReadAheadTests.swift", "CSV/ReferenceParser.swift", "Pipeline/ParallelParsingTests.swift",
  "Threads",
]

// `SHEAF_OPTIMIZED=1` optimizes the libraries in debug builds too, without taking what tests need out of
// them: each step of a test takes several times as long otherwise, and as long again under a sanitizer.
//
// `SHEAF_FUZZED=1` compiles them as scripts/fuzz does, which can link them then, as scripts/memory-tests can:
// optimized, with AddressSanitizer, and with the coverage that leads a fuzzer.
//
// `SHEAF_WHOLE=1` compiles each module as a whole, as `SHEAF_PACKAGE` and SHEAF_FUZZED do: two thirds of the
// time for who builds once, and more for who changes a file and builds again.
let isFuzzed = Context.environment["SHEAF_FUZZED"] == "1"
let isOptimized = isFuzzed || Context.environment["SHEAF_OPTIMIZED"] == "1"
let isBuiltOnce = isFuzzed || selection != nil || Context.environment["SHEAF_WHOLE"] == "1"
let whole = SwiftSetting.unsafeFlags(["-wmo", "-num-threads", "2"])
let settings: [SwiftSetting] =
  [.treatAllWarnings(as: .error)] + (isBuiltOnce ? [whole] : [])
let librarySettings: [SwiftSetting] =
  [.treatAllWarnings(as: .error)]
  + (isBuiltOnce || isOptimized ? [whole] : [])
  + (isOptimized ? [.unsafeFlags(["-O"])] : [])
  + (isFuzzed ? [.unsafeFlags(["-sanitize=fuzzer,address"])] : [])

let libraries: [Target] = [
  // What is below a database and has nothing to do with one; no product.
  .target(
    name: "Base", swiftSettings: librarySettings,
    // The C library has iconv elsewhere.
    linkerSettings: [.linkedLibrary("iconv", .when(platforms: [.macOS]))]),
  // Functions in C with which the importer looks for structure, and the engine reads numbers.
  .target(name: "ByteMasks"),
  .target(name: "Engine", dependencies: ["Base", "ByteMasks"], swiftSettings: librarySettings),
  .target(
    name: "Importer", dependencies: ["Base", "ByteMasks", "Engine"],
    swiftSettings: librarySettings),
  // What all tests use; no product.
  .target(
    name: "TestSupport", dependencies: ["Base", "Engine"], path: "Tests/TestSupport",
    swiftSettings: settings),
  .testTarget(
    name: "BaseTests", dependencies: ["Base", "TestSupport"],
    swiftSettings: settings),
  .testTarget(
    name: "EngineTests", dependencies: ["Base", "Engine", "TestSupport"],
    sources: selection == "threads" ? engineThreadTests : nil,
    swiftSettings: settings),
  .testTarget(
    name: "ImporterTests", dependencies: ["Base", "Engine", "Importer", "TestSupport"],
    sources: selection == "threads" ? importerThreadTests : nil,
    swiftSettings: settings),
]

let programs: [Target] =
  [
    // The words that the program was started with, where Swift has no way to them.
    .target(name: "ProgramArguments"),
    .executableTarget(
      name: "Command", dependencies: ["Base", "Engine", "Importer", "ProgramArguments"],
      swiftSettings: settings,
      // One file that runs without a Swift toolchain, and starts in half the time. What scripts/install has
      // put into the folder is taken before the system's libraries.
      linkerSettings: [
        .unsafeFlags(
          [
            "-static-stdlib", "-Xclang-linker", "-static-libgcc",
            "-L\(Context.packageDirectory)/.build/static",
          ], .when(platforms: [.linux], configuration: .release))
      ]),
    // What scripts/bench looks objects up with; no product.
    .executableTarget(
      name: "PointLookups", dependencies: ["Base", "Engine", "TestSupport"],
      path: "Tests/PointLookups",
      swiftSettings: settings),
    // What scripts/bench reads with beside SQLite; no product.
    .executableTarget(
      name: "ReadBenchmark", dependencies: ["Base", "Engine", "TestSupport"],
      path: "Tests/ReadBenchmark",
      swiftSettings: settings),
    // What scripts/bench writes with beside SQLite; no product.
    .executableTarget(
      name: "WriteBenchmark", dependencies: ["Base", "Engine", "TestSupport"],
      path: "Tests/WriteBenchmark",
      swiftSettings: settings),
    // One of the processes of CrowdTests; no product.
    .executableTarget(
      name: "Crowd", dependencies: ["Base", "Engine", "TestSupport"], path: "Tests/Crowd",
      swiftSettings: settings),
    .testTarget(
      name: "ScheduleTests", dependencies: ["Base", "Engine", "Importer", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "CommandTests",
      dependencies: ["Base", "Command", "Crowd", "Engine", "Importer", "TestSupport"],
      swiftSettings: settings),
    .target(
      name: "StorySupport", dependencies: ["Base", "Engine"], path: "samples/Support",
      swiftSettings: settings),
  ]
  + stories.map { name in
    .executableTarget(
      name: name, dependencies: ["Engine", "Importer", "StorySupport"], path: "samples/\(name)",
      swiftSettings: settings)
  }

let package = Package(
  name: "sheaf",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Engine", targets: ["Engine"]),
    .library(name: "Importer", targets: ["Importer"]),
  ] + (isWhole ? [.executable(name: "sheaf", targets: ["Command"])] : []),
  targets: libraries + (isWhole ? programs : []),
  swiftLanguageModes: [.v6]
)
