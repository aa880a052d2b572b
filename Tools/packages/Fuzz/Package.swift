// swift-tools-version: 6.1
import PackageDescription

// A separate package, so that apps which use the library never resolve what only fuzzing needs. Tools/harnesses/fuzz
// builds it with `--sanitize fuzzer`, which adds the main function, and with `-enable-testing`, which gives it access
// to the decoders of CofferSealing.
let package = Package(
  name: "coffer-fuzz",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "coffer", path: "../../..")],
  targets: [
    .executableTarget(
      name: "coffer-fuzz",
      dependencies: [
        .product(name: "Coffer", package: "coffer"), .product(name: "CofferFormats", package: "coffer"),
        .product(name: "CofferReplication", package: "coffer"), .product(name: "CofferSQLite", package: "coffer"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .unsafeFlags(["-parse-as-library"]),
      ])
  ],
  swiftLanguageModes: [.v6]
)
