// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that apps which use the library never resolve what only damaging stores needs. Built by
// Tools/flips.
let package = Package(
  name: "coffer-flips",
  dependencies: [.package(name: "coffer", path: "../..")],
  targets: [
    .executableTarget(
      name: "coffer-judge",
      dependencies: [.product(name: "Coffer", package: "coffer")],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
