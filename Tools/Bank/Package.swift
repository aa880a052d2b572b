// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that apps which use the library never resolve what only Tools/crowd needs.
let package = Package(
  name: "coffer-bank",
  dependencies: [.package(name: "coffer", path: "../..")],
  targets: [
    .executableTarget(
      name: "coffer-bank",
      dependencies: [.product(name: "Coffer", package: "coffer")],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
