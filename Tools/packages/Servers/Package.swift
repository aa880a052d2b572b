// swift-tools-version: 6.1
import PackageDescription

// A separate package, so that apps which use the library never resolve GRDB, beside which it is measured.
let package = Package(
  name: "coffer-servers",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "coffer", path: "../../.."),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "coffer-server",
      dependencies: [.product(name: "Coffer", package: "coffer"), .product(name: "GRDB", package: "GRDB.swift")],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
