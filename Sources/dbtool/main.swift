// The entry point: hardens the process, runs the verb, and ends with one exit code (Commands, "Exit codes").

internal import Coffer

Process.harden()
DocumentStore.disableMemoryStatistics()
Process.exit(with: Dbtool.run(CommandLine.arguments.dropFirst()))
