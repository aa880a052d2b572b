// The entry: process hardening first, then the verb, then one exit code (CLI, "Exit codes").

Process.harden()
Process.exit(with: Dbtool.run(CommandLine.arguments.dropFirst()))
