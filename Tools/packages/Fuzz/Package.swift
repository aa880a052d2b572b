// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that apps which use the library never resolve what only fuzzing needs. Built by
// Tools/harnesses/fuzz, with `--sanitize fuzzer`, which brings the main function, and with `-enable-testing`, which
// opens the decoders of CofferSealing to it.
let package = Package(
  name: "coffer-fuzz",
  dependencies: [.package(name: "coffer", path: "../../..")],
  targets: [
    .executableTarget(
      name: "coffer-fuzz",
      dependencies: [
        .product(name: "Coffer", package: "coffer"), .product(name: "CofferFormats", package: "coffer"),
        .product(name: "CofferSQLite", package: "coffer"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .unsafeFlags(["-parse-as-library"]),
      ])
  ],
  swiftLanguageModes: [.v6]
)
