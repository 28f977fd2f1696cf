"""Clients of slowhttptest, Debian's program for it, which send headers and bodies, or read replies, too slowly."""
import csv
import os
import shutil
import subprocess
import threading
import time

import promises

# What the program does, and to which path.
ATTACKS = {
    "headers": (["-H", "-i", "3"], f"/v2/models/{promises.MODEL}/infer"),
    "body": (["-B", "-i", "3", "-s", "8192"], f"/v2/models/{promises.MODEL}/infer"),
    "read": (["-X", "-n", "2", "-z", "5", "-w", "1", "-y", "512", "-k", "3"], "/"),
    "range": (["-R", "-t", "HEAD"], "/v2"),
}
RAMP_SECONDS = 5  # in which all clients have connected
PROBE_SECONDS = 5  # that a health probe may take, as for the program's own


class Attack:
    """Runs the program until `seconds` are over, again whenever the server has closed its connections."""

    def __init__(self, server, directory, name, connections, seconds):
        self._options, path = ATTACKS[name]
        self._url = f"{server.url}{path}"
        self._prefix = os.path.join(directory, f"slow_{name}")
        self._connections, self._end = connections, time.monotonic() + seconds
        self.most, self.unavailable, self.rounds = 0, 0, 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while (left := self._end - time.monotonic()) > 0:
            length = max(1, round(left))
            subprocess.run(["slowhttptest", *self._options, "-c", str(self._connections), "-r",
                            str(max(50, self._connections // RAMP_SECONDS)), "-l", str(length), "-p", str(PROBE_SECONDS), "-g",
                            "-o", self._prefix, "-u", self._url],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=length + 60, check=False)
            self._read()
            self.rounds += 1
            time.sleep(0.1)

    def _read(self):
        """Each second's connections, and whether the program's own probe was answered."""
        try:
            with open(self._prefix + ".csv", encoding="ascii") as file:
                rows = list(csv.DictReader(file))
            os.remove(self._prefix + ".csv")
        except OSError:
            return
        for row in rows:
            self.most = max(self.most, int(row["Connected"]))
            self.unavailable += int(row["Service Available"]) == 0

    def join(self):
        self._thread.join()


class Probes:
    """Asks for the server's health twice a second."""

    def __init__(self, server):
        self.asked, self.failed = 0, 0
        self._server, self._ends = server, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._ends.wait(0.5):
            self.asked += 1
            try:
                self.failed += self._server.ask("GET", "/v2/health/ready", timeout=PROBE_SECONDS)[0] != 200
            except OSError:
                self.failed += 1

    def end(self):
        self._ends.set()
        self._thread.join()


def _p99(soak, server, seconds, broken):
    return soak.load(server, 50, seconds, broken)["latency_ms"].get("p99", 0)


def _attacked(soak, target, server, name, seconds, broken):
    """The attack on `target`, and the latency of `server` beside it."""
    attack = Attack(target, soak.directory, name, 4000 if soak.whole else 100, seconds)
    beside = _p99(soak, server, seconds, broken)
    attack.join()
    return attack, beside


def _await_descriptors(server, most):
    """Returns how many more there are."""
    end = time.monotonic() + 20
    while server.descriptors() > most and time.monotonic() < end:
        time.sleep(0.1)
    return server.descriptors() - most


def _figures(soak, server, decoy, name, seconds, broken):
    """Of one attack. The program takes as much of the machine as a busy server: the latency beside it is compared with the one
    while it attacks another server."""
    descriptors = server.descriptors()
    quiet = _p99(soak, server, max(0.5, seconds / 20), broken)
    _, before = _attacked(soak, decoy, server, name, max(1, seconds / 4), broken)
    probes = Probes(server)
    attack, beside = _attacked(soak, server, server, name, seconds, broken)
    probes.end()
    promises.check(broken, probes.failed == 0, f"{name}: {probes.failed} of {probes.asked} health probes failed")
    promises.check(broken, attack.unavailable == 0, f"{name}: the program's own probe failed {attack.unavailable} times")
    promises.check(broken, attack.rounds > 0, f"{name}: slowhttptest did not run")
    # Requests with ranges are answered at once.
    if soak.whole and name != "range":
        promises.check(broken, attack.most >= 3600, f"{name}: at most {attack.most} of 4000 clients were connected")
    left = _await_descriptors(server, descriptors + 2)
    promises.check(broken, left <= 0, f"{name}: clients that have gone leave {left + 2} descriptors")
    if soak.whole and not soak.sanitized:
        promises.check(broken, beside <= 2 * before,
                       f"{name}: 99 % of replies within {beside:.2f} ms, {before:.2f} ms while another server is attacked")
    return {"clients": attack.most, "probes": probes.asked, "p99_ms": round(beside, 2), "decoy_p99_ms": round(before, 2),
            "quiet_p99_ms": round(quiet, 2)}


def slow_http(soak, server, seconds, broken):
    """11: beside clients of an outside program that send headers, bodies or ranges, or read, too slowly, probes and requests are
    answered as ever. The promise is about 4,000 clients and 240 s of each kind: `scripts/soak 960 --only slow_http`."""
    if shutil.which("slowhttptest") is None:
        promises.check(broken, not soak.whole, "slowhttptest is not installed: apt-get install slowhttptest")
        return {"skipped": "slowhttptest is not installed"}
    before = server.memory()
    decoy = soak.start()
    try:
        figures = {name: _figures(soak, server, decoy, name, max(1, seconds / len(ATTACKS)), broken) for name in ATTACKS}
    finally:
        decoy.end()
    figures["grown_mib"] = round((server.memory() - before) / promises.MEBIBYTE, 1)
    promises.check(broken, figures["grown_mib"] < 128, f"slow clients left {figures['grown_mib']} MiB")
    return figures
