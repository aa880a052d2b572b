// swift-tools-version: 6.1
import PackageDescription

// A separate package, so that apps which use the library never resolve what only benchmarks need.
let package = Package(
  name: "coffer-benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "coffer", path: "../../..")],
  targets: [
    .executableTarget(
      name: "coffer-bench",
      dependencies: [
        .product(name: "Coffer", package: "coffer"), .product(name: "CofferSQLite", package: "coffer"),
        .product(name: "CofferFormats", package: "coffer"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
