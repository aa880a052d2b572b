"""Recovery from object storage: the kills of `recovery`, with replicas in a bucket of a server on this machine.

The server is Python's package moto, in an environment of the build folder. Without it the trial says that it is skipped.
"""

import socket
import subprocess
import sys
import urllib.request

from . import recovery
from .setting import ROOT, Findings, kill, wait_for


def find_server():
    """The Python that has moto's server; None if it can't be had."""
    folder = ROOT / ".build" / "moto"
    python = folder / "bin" / "python"
    probe = [python, "-c", "import moto.server"]
    if python.exists() and subprocess.run(probe, capture_output=True).returncode == 0:
        return python
    for command in [[sys.executable, "-m", "venv", folder], [folder / "bin" / "pip", "install", "-q", "moto[s3,server]"], probe]:
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return None
    return python


def trial(tools, folder, kills, seed):
    python = find_server()
    if python is None:
        return Findings(), ["SKIPPED: no object storage: Python's package moto can't be had"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(folder / "server.log", "wb") as log:
        server = subprocess.Popen(
            [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
    try:
        endpoint = f"http://127.0.0.1:{port}"

        def is_there():
            try:
                urllib.request.urlopen(urllib.request.Request(f"{endpoint}/replicas", method="PUT"), timeout=5)
                return True
            except OSError:
                return False

        if not wait_for(is_there):
            return Findings(["the server of object storage does not answer"]), []

        def replica(name):
            return "\n      ".join([
                "type: s3", "bucket: replicas", f"path: {name}", f"endpoint: {endpoint}", "region: us-east-1",
                "force-path-style: true", "access-key-id: none", "secret-access-key: none"])

        findings, figures = recovery.trial(tools, folder, kills, seed, make_replica=replica)
        return findings, [f"object storage: {figure}" for figure in figures]
    finally:
        kill(server)
