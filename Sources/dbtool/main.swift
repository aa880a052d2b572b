// The entry: process hardening first, then the verb, then one exit code (Commands, "Exit codes").

internal import Coffer

Process.harden()
DocumentStore.disableMemoryStatistics()
Process.exit(with: Dbtool.run(CommandLine.arguments.dropFirst()))
