// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A program that a harness under Tools starts and judges.
func program(_ name: String) -> Target {
  .executableTarget(
    name: name, dependencies: [.product(name: "Coffer", package: "coffer")], swiftSettings: settings)
}

// A package of its own, so that apps which use the library never resolve what only trials need. `coffer-bank` is for
// Tools/harnesses/crowd, `coffer-judge` for Tools/harnesses/flips, `coffer-reopen` for Tools/harnesses/power-loss; each
// builds what it needs.
let package = Package(
  name: "coffer-trials",
  dependencies: [.package(name: "coffer", path: "../../..")],
  targets: [program("coffer-bank"), program("coffer-judge"), program("coffer-reopen")],
  swiftLanguageModes: [.v6]
)
