"""Keeps a server under pressure and says which promises it broke. Only loopback, bounded in time.

Usage: soak.py PROGRAM [--seconds N] [--only NAME]... [--seed N] [--whole]
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import promises  # noqa: E402
import slow_http  # noqa: E402
import traffic  # noqa: E402
from server import Server  # noqa: E402

PROMISES = [*promises.PROMISES, slow_http.slow_http]


class Soak:
    def __init__(self, arguments, directory):
        self.program, self.seed, self.whole = arguments.program, arguments.seed, arguments.whole
        self.sanitized = arguments.sanitized
        self.most_body = 8 << 20
        self.directory = directory
        self.repository = os.path.join(directory, "models")
        os.makedirs(os.path.join(self.repository, promises.MODEL, "1"))
        with open(os.path.join(self.repository, promises.MODEL, "1", "model.onnx"), "wb") as file:
            file.write(self.model_bytes(promises.MODEL))
        os.makedirs(os.path.join(directory, "chain", "1"))
        self.chain = os.path.join(directory, "chain")
        with open(os.path.join(self.chain, "1", "model.onnx"), "wb") as file:
            file.write(self.chain_bytes(15000))
        self.keys = os.path.join(directory, "keys")
        with open(os.path.join(directory, "keys"), "w", encoding="ascii") as file:
            file.write("secret-admin\n")
        os.chmod(self.keys, 0o600)

    @staticmethod
    def field(number, data):
        """A field of a message; models are written by hand, so that nothing but Python is needed."""
        length, left = b"", len(data)
        while left > 127:
            length, left = length + bytes([left & 127 | 128]), left >> 7
        return bytes([number << 3 | 2]) + length + bytes([left]) + data

    @classmethod
    def graph_bytes(cls, name, nodes):
        """From x to y, both over rows of two."""
        field = cls.field

        def value(name):
            dims = field(1, field(2, b"n")) + field(1, b"\x08\x02")
            return field(1, name) + field(2, field(1, b"\x08\x01" + field(2, dims)))

        graph = b"".join(field(1, node) for node in nodes) + field(2, name.encode())
        return b"\x08\x0a" + field(7, graph + field(11, value(b"x")) + field(12, value(b"y"))) + field(8, b"\x10\x15")

    @classmethod
    def model_bytes(cls, name):
        """y = x + x."""
        return cls.graph_bytes(name, [cls.field(1, b"x") + cls.field(1, b"x") + cls.field(2, b"y") + cls.field(4, b"Add")])

    @classmethod
    def chain_bytes(cls, length):
        """A sine of a sine and so on: much more work for the server than for its client."""
        names = [b"x", *(b"s%d" % i for i in range(1, length)), b"y"]
        return cls.graph_bytes("chain", [cls.field(1, a) + cls.field(2, b) + cls.field(4, b"Sin")
                                         for a, b in zip(names, names[1:])])

    def start(self, *options, most_body=None, models=None):
        return Server(self.program, models or [self.repository], self.directory, "--admin-key-file", self.keys,
                      "--max-body", str(most_body or self.most_body), *options)

    def load(self, server, rate, seconds, broken, may_lose=False, rows=4, model=promises.MODEL):
        """An open loop by the program's own client: drawn requests take turns, each reply is compared with the one to the same
        request alone, so that rows which are swapped within a batch are seen. `may_lose`: refusals and losses are expected."""
        done = subprocess.run(
            [self.program, "client", "load", server.url, model, "--rate", str(rate), "--duration",
             str(seconds), "--connections", "500", "--timeout", "20", "--requests", "16", "--compare", "--json", "--shape",
             f"x={rows}x2", "--seed", str(self.seed)],
            capture_output=True, text=True, timeout=seconds + 120, check=False)
        if not done.stdout:
            broken.append(f"the load did not run: {done.stderr.strip()}")
            return {"replies": 0, "wrong": 0, "by_status": {}, "latency_ms": {}, "refusal_ms": {}, "right_per_s": 0}
        report = json.loads(done.stdout)
        if report["wrong"]:
            broken.append(f"{report['wrong']} of {report['replies']} replies are wrong")
        if report["lost"] and not may_lose:
            broken.append(f"requests without a reply: {report['lost']}")
        if set(report["by_status"]) - {"200"} and not may_lose:
            broken.append(f"requests that were refused: {report['by_status']}")
        return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", help="the onward program")
    parser.add_argument("--seconds", type=float, default=60, help="for all promises together (default: 60)")
    parser.add_argument("--only", action="append", choices=[each.__name__ for each in PROMISES])
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1000000)
    parser.add_argument("--whole", action="store_true", help="as many clients as the promises say")
    parser.add_argument("--sanitized", action="store_true", help="the program has sanitizers")
    arguments = parser.parse_args()
    chosen = [each for each in PROMISES if not arguments.only or each.__name__ in arguments.only]
    print(f"seed {arguments.seed}", flush=True)
    failed = 0
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a client of thousands takes as many descriptors
    with tempfile.TemporaryDirectory(prefix="onward_soak_") as directory:
        soak = Soak(arguments, directory)
        server = soak.start()
        try:
            for promise in chosen:
                broken = []
                try:
                    figures = promise(soak, server, arguments.seconds / len(chosen), broken)
                except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                    figures = {}
                    broken.append(f"{type(error).__name__}: {error}")
                if not server.alive():
                    broken.append("the server is dead: " + open(server.log, encoding="utf-8").read()[-500:])
                print(f"{'BROKEN' if broken else 'kept'}  {promise.__name__}  {json.dumps(figures)}", flush=True)
                for what in broken[:10]:
                    print(f"    {what}", flush=True)
                failed += bool(broken)
                if not server.alive():
                    server = soak.start()
            status = server.stop()
            if status != 0:
                print(f"BROKEN  the server ended with {status}")
                failed += 1
        finally:
            server.end()
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
