// swift-tools-version: 6.1
import PackageDescription

/// Every Swift target here is held to the same compiler settings.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A Swift target in the folder of Sources with the same name.
func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// The targets below CofferEngine that targets of the store use.
let foundations: [Target.Dependency] = [
  "CofferPlatform", "CofferDocuments", "CofferSealing", "CofferSQLite", "CofferRecords",
]

/// The tests of a target, with what all tests share.
func tests(of name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: "\(name)Tests", dependencies: dependencies + ["CofferTestSupport"], swiftSettings: settings)
}

/// What the tests of stores use: the targets of the store, through their public and their package interfaces.
let storeTestDependencies: [Target.Dependency] =
  foundations + [
    "CofferFoundation", "CofferText", "Coffer", "CofferCopies", "CofferSearch", "CofferEngine", "CofferPatterns",
    "CofferStoreTestSupport",
    "CofferTestSupport",
  ]

/// The tests of a target of the store.
func storeTests(of name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: storeTestDependencies + dependencies, swiftSettings: settings)
}

/// A program that a harness of Tools starts and judges. No product names it, so that apps never build it.
func trial(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .executableTarget(
    name: name, dependencies: ["Coffer"] + dependencies, path: "Tools/harnesses/programs/\(name)",
    swiftSettings: settings)
}

/// A program that the tutorials show. No product names it, so that apps never build it.
func example(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .executableTarget(
    name: name,
    dependencies: ["Coffer", .product(name: "ArgumentParser", package: "swift-argument-parser")] + dependencies,
    path: "Examples/\(name)/Sources", swiftSettings: settings)
}

let package = Package(
  name: "coffer",
  // The first versions that have the module Synchronization.
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Coffer", targets: ["Coffer"]),
    .library(name: "CofferReplication", targets: ["CofferReplication"]),
    .library(name: "CofferFormats", targets: ["CofferFormats"]),
    .library(name: "CofferSQLite", targets: ["CofferSQLite"]),
    .executable(name: "dbtool", targets: ["dbtool"]),
  ],
  traits: [
    .default(enabledTraits: ["OpenSSL"]),
    .trait(name: "OpenSSL", description: "Seals with the system's OpenSSL."),
    .trait(
      name: "SwiftCrypto",
      description: "Seals with swift-crypto, and needs no OpenSSL. It wins where both traits are on."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    // Fetched and built with the trait only.
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
  ],
  targets: [
    .systemLibrary(
      name: "CCofferOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(
      name: "CCofferSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .target(name: "CCofferPlatform"),
    target("CofferPlatform", ["CCofferPlatform"]),
    target("CofferFoundation"),
    target("CofferDocuments"),
    .target(name: "CCofferText"),
    target("CofferText", ["CCofferText"]),
    target("CofferPatterns", ["CofferDocuments", "CofferText", "CofferPlatform"]),
    target(
      "CofferSealing",
      [
        .target(name: "CCofferOpenSSL", condition: .when(traits: ["OpenSSL"])),
        .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["SwiftCrypto"])),
        .product(name: "CryptoExtras", package: "swift-crypto", condition: .when(traits: ["SwiftCrypto"])),
        "CofferText", "CofferPlatform",
      ]),
    target("CofferSQLite", ["CCofferSQLite", "CofferPlatform"]),
    target("CofferRecords", ["CofferDocuments", "CofferText", "CofferSealing", "CofferSQLite", "CofferPlatform"]),
    target("CofferPropertyLists", ["CofferDocuments"]),
    target(
      "CofferFormats",
      [
        "CofferDocuments", "CCofferText", "CofferText", "CofferSQLite", "CofferSealing", "CofferPropertyLists",
        "CofferPlatform",
      ]),
    target(
      "CofferEngine",
      foundations + [
        "CofferFoundation", "CofferText", "CofferPatterns", .product(name: "Logging", package: "swift-log"),
      ]),
    target(
      "CofferSearch",
      [
        "CofferFoundation", "CofferDocuments", "CofferText", "CofferSealing", "CofferSQLite", "CofferRecords",
        "CofferEngine", "CofferPatterns",
      ]),
    target("CofferCopies", foundations + ["CofferText", "CofferEngine", "CofferSearch"]),
    target("CofferSync", foundations + ["CofferEngine", "CofferCopies"]),
    target("Coffer", foundations + ["CofferFoundation", "CofferEngine", "CofferSearch", "CofferCopies", "CofferSync"]),
    target(
      "CofferReplication",
      [
        "CofferPlatform", "CofferFoundation", "CofferSealing", "CofferSQLite", "CofferRecords", "CofferEngine",
        "CofferSearch", "Coffer",
      ]),
    target("CofferTerminal", ["CofferPlatform"]),
    target("CofferBrowser", ["CofferPlatform", "CofferDocuments", "CofferEngine", "Coffer", "CofferTerminal"]),
    .executableTarget(
      name: "dbtool",
      dependencies: [
        "CofferPlatform", "CofferFoundation", "CofferDocuments", "CofferText", "CofferSealing", "CofferEngine",
        "CofferCopies", "CofferSync", "Coffer", "CofferReplication", "CofferFormats", "CofferTerminal", "CofferBrowser",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    trial("coffer-app"),
    trial("coffer-bank"),
    trial("coffer-judge", ["CofferPlatform", "CofferFoundation"]),
    trial("coffer-reopen"),
    trial("coffer-replica", ["CofferReplication"]),
    trial("coffer-sync", ["CofferSyncSimulation"]),
    example("notes"),
    example("dataset", ["CofferFormats"]),
    example("sync", ["CofferFormats"]),
    .target(
      name: "CofferTestSupport", dependencies: ["CofferPlatform"], path: "Tests/Support", swiftSettings: settings),
    .target(
      name: "CofferStoreTestSupport",
      dependencies: ["Coffer", "CofferCopies", "CofferEngine", "CofferFoundation", "CofferText", "CofferTestSupport"]
        + foundations,
      path: "Tests/StoreSupport", swiftSettings: settings),
    .target(
      name: "CofferSyncSimulation",
      dependencies: ["Coffer", "CofferEngine", "CofferCopies", "CofferSync", "CofferFoundation", "CofferTestSupport"]
        + foundations,
      path: "Tests/SyncSimulation", swiftSettings: settings),
    .target(name: "CofferMergeModel", path: "Tests/MergeModel", swiftSettings: settings),
    tests(of: "CofferMergeModel", ["CofferMergeModel"]),
    tests(of: "CofferDocuments", ["CofferDocuments"]),
    tests(of: "CofferText", ["CofferText", "CofferPlatform"]),
    tests(of: "CofferPatterns", ["CofferPatterns", "CofferText"]),
    tests(of: "CofferSealing", ["CofferSealing", "CofferText", "CofferPlatform"]),
    tests(of: "CofferSQLite", ["CofferSQLite", "CCofferSQLite"]),
    tests(
      of: "CofferRecords",
      ["CofferRecords", "CofferDocuments", "CofferSealing", "CofferSQLite", "CofferMergeModel"]),
    tests(
      of: "CofferFormats",
      ["CofferFormats", "CofferPropertyLists", "CofferText", "CofferDocuments", "CofferSQLite"]),
    storeTests(of: "CofferEngine", ["CofferFormats", .product(name: "Logging", package: "swift-log")]),
    storeTests(of: "CofferSearch"),
    storeTests(of: "CofferCopies", ["CofferMergeModel"]),
    storeTests(of: "Coffer", ["CofferFormats", .product(name: "Logging", package: "swift-log")]),
    storeTests(of: "CofferSync", ["CofferSync", "CofferSyncSimulation"]),
    storeTests(of: "CofferReplication", ["CofferReplication"]),
    .testTarget(
      name: "Attacks", dependencies: storeTestDependencies + ["CofferFormats"], path: "Tests/Attacks",
      swiftSettings: settings),
    tests(
      of: "Dbtool",
      [
        "dbtool", "CofferPlatform", "CofferDocuments", "CofferSQLite", "CofferSealing", "CofferEngine", "Coffer",
        "CofferTerminal", "CofferBrowser",
      ]),
    tests(of: "Examples", ["notes", "dataset", "sync", "Coffer", "CofferEngine", "CofferSealing"]),
  ],
  swiftLanguageModes: [.v6]
)
