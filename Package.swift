// swift-tools-version: 6.1
import PackageDescription

/// Every Swift target here is held to the same compiler settings.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A Swift target in the folder of Sources with the same name.
func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// The tests of a target, with what all tests share.
func tests(of name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: "\(name)Tests", dependencies: dependencies + ["CofferTestSupport"], swiftSettings: settings)
}

/// A program that a harness of Tools starts and judges. No product names it, so that apps never build it.
func trial(_ name: String) -> Target {
  .executableTarget(
    name: name, dependencies: ["Coffer"], path: "Tools/harnesses/programs/\(name)", swiftSettings: settings)
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
  products: [
    .library(name: "Coffer", targets: ["Coffer"]),
    .library(name: "CofferFormats", targets: ["CofferFormats"]),
    .library(name: "CofferSQLite", targets: ["CofferSQLite"]),
    .executable(name: "dbtool", targets: ["dbtool"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    .systemLibrary(name: "CCofferOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCofferSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    room("CofferDocuments"),
    .target(name: "CCofferText"),
    room("CofferText", ["CCofferText"]),
    room("CofferPatterns", ["CofferDocuments", "CofferText"]),
    room("CofferSealing", ["CCofferOpenSSL", "CofferText"]),
    room("CofferSQLite", ["CCofferSQLite"]),
    room("CofferRecords", ["CofferDocuments", "CofferText", "CofferSealing", "CofferSQLite"]),
    room("CofferPropertyLists", ["CofferDocuments"]),
    room(
      "CofferFormats", ["CofferDocuments", "CCofferText", "CofferText", "CofferSQLite", "CofferPropertyLists"]),
    room(
      "Coffer",
      [
        "CofferDocuments", "CofferText", "CofferPatterns", "CofferSealing", "CofferSQLite", "CofferRecords",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .executableTarget(
      name: "dbtool",
      dependencies: [
        "Coffer", "CofferFormats", "CofferText",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    trial("coffer-bank"),
    trial("coffer-judge"),
    trial("coffer-reopen"),
    trial("coffer-replica"),
    example("notes"),
    example("dataset", ["CofferFormats"]),
    example("sync", ["CofferFormats"]),
    .target(name: "CofferTestSupport", path: "Tests/Support", swiftSettings: settings),
    tests(of: "CofferDocuments", ["CofferDocuments"]),
    tests(of: "CofferText", ["CofferText"]),
    tests(of: "CofferPatterns", ["CofferPatterns", "CofferText"]),
    tests(of: "CofferSealing", ["CofferSealing", "CofferText"]),
    tests(of: "CofferSQLite", ["CofferSQLite"]),
    tests(of: "CofferRecords", ["CofferRecords", "CofferDocuments"]),
    tests(
      of: "CofferFormats",
      ["CofferFormats", "CofferPropertyLists", "CofferText", "CofferDocuments", "CofferSQLite"]),
    tests(
      of: "Coffer",
      [
        "Coffer", "CofferFormats", "CofferRecords", "CofferSealing", "CofferSQLite", "CofferDocuments",
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(of: "Dbtool", ["dbtool", "CofferSQLite"]),
    tests(of: "Examples", ["notes", "dataset", "sync", "Coffer"]),
  ],
  swiftLanguageModes: [.v6]
)
