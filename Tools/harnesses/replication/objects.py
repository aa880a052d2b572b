"""Recovery from object storage: the kills of `recovery`, with replicas in a bucket of a server on this machine.

The server is Python's package moto, in an environment of the build folder. Without it the trial says that it is skipped.
"""

import socket
import subprocess
import urllib.request

from . import recovery
from .setting import Findings, kill, python_package, wait_for


def trial(tools, folder, kills, seed):
    program = python_package("moto_server", "moto[s3,server]")
    if program is None:
        return Findings(), ["SKIPPED: no object storage: Python's package moto can't be had"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(folder / "server.log", "wb") as log:
        server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
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
