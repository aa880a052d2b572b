"""Counts a command's write-like system calls, and breaks one by strace's injection; or kills the command at a time."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# Calls that change a file, its length or its name, or that write it through to the disk.
WRITE_LIKE = (
    "write", "pwrite64", "writev", "pwritev", "ftruncate", "fallocate", "fsync", "fdatasync", "syncfs",
    "sync_file_range", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat",
)
SYNCHRONISING = ("fsync", "fdatasync", "syncfs", "sync_file_range")
KILLED = -9
TIME_LIMIT = 120
_LINE = re.compile(r"^(\d+) +(\w+)\(")


@dataclass(frozen=True)
class Fault:
    """A kill or an error at the n-th call of a name, counted from 1; with `lasts` also at all later ones."""

    call: str
    number: int
    error: str = None
    lasts: bool = False

    @property
    def injection(self):
        what = f"error={self.error}" if self.error else "signal=SIGKILL"
        return f"inject={self.call}:{what}:when={self.number}{'+' if self.lasts else ''}"

    @property
    def is_kill(self):
        return self.error is None

    def strike(self, runner, command):
        return runner.broken(command, self)

    def __str__(self):
        what = f"{self.error}{' from then on' if self.lasts else ''}" if self.error else "SIGKILL"
        return f"{what} at {self.call} {self.number}"


@dataclass(frozen=True)
class Late:
    """SIGKILL after a number of seconds, at any point of the command."""

    seconds: float
    is_kill = True

    def strike(self, runner, command):
        return runner.killed(command, self.seconds)

    def __str__(self):
        return f"SIGKILL after {1000 * self.seconds:.1f} ms"


def error_of(call):
    """The error that a call reports when the disk is full or fails."""
    return "EIO" if call in (*SYNCHRONISING, "unlink", "unlinkat") else "ENOSPC"


class Runner:
    def __init__(self, environment, folder):
        self.environment, self.folder = environment, Path(folder)

    def plain(self, command, **options):
        return subprocess.run(
            [str(part) for part in command], cwd=self.folder, env=self.environment, capture_output=True,
            timeout=TIME_LIMIT, **options)

    def killed(self, command, seconds):
        process = subprocess.Popen(
            [str(part) for part in command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(seconds)
        process.kill()
        return subprocess.CompletedProcess(command, *self._ended(process))

    @staticmethod
    def _ended(process):
        # Children that outlive the process keep its output open.
        code = process.wait(TIME_LIMIT)
        errors = process.stderr.read() if code not in (KILLED, 0) else b""
        process.stdout.close()
        process.stderr.close()
        return code, b"", errors

    def points(self, command):
        """Every write-like call of the command as (name, number), in order; and the completed run."""
        log = self.folder / ".calls"
        done = self.plain(["strace", "-f", "--seccomp-bpf", "-qq", "-o", log, "-e", "trace=" + ",".join(WRITE_LIKE), *command])
        counts, points = {}, []
        for line in log.read_text(errors="replace").splitlines():
            if match := _LINE.match(line):
                # strace counts the calls of each thread separately.
                counts[match[0]] = number = counts.get(match[0], 0) + 1
                if (match[2], number) not in points:
                    points.append((match[2], number))
        log.unlink()
        return points, done

    def broken(self, command, fault):
        """Runs the command with that fault; the exit code is KILLED if the fault killed the command."""
        return self.plain(
            [
                "strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", f"trace={fault.call}", "-e",
                fault.injection, *command,
            ])
