"""A server that is watched: its process, memory, descriptors, and what it says of itself."""
import http.client
import os
import re
import signal
import socket
import subprocess
import time


def _is_whole(reply):
    head, end, body = reply.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
    return bool(end) and length is not None and len(body) >= int(length[1])


class Server:
    def __init__(self, program, models, directory, *options):
        self.directory = directory
        self.log = os.path.join(directory, f"server_{time.monotonic_ns()}.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([program, "serve", *models, "--http", "127.0.0.1:0", *options],
                                            stdout=log, stderr=subprocess.STDOUT)
        self.port = self._await_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def _await_port(self):
        for _ in range(6000):
            text = open(self.log, encoding="utf-8", errors="replace").read()
            found = re.search(r"^serving \d+ models? on http://127\.0\.0\.1:(\d+)$", text, re.M)
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                raise RuntimeError(f"the server did not begin: {text}")
            time.sleep(0.01)
        raise RuntimeError("the server did not begin within a minute")

    def ask(self, method, path, body=None, fields=None, timeout=60):
        """Returns status, fields and body; on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, fields or {})
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def send(self, data, timeout=30, leaves=False):
        """Sends bytes as they are and returns the first reply, b"" where none comes. `leaves`: no more bytes will come."""
        reply = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as client:
            try:
                client.sendall(data)
                if leaves:
                    client.shutdown(socket.SHUT_WR)
                while not _is_whole(reply) and (part := client.recv(65536)):
                    reply += part
            except OSError:
                pass
        return reply

    def ready(self):
        return self.ask("GET", "/v2/health/ready")[0] == 200

    def alive(self):
        return self.process.poll() is None

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def pending(self):
        text = self.ask("GET", "/metrics")[2].decode()
        return sum(float(value) for value in
                   re.findall(r"^nv_inference_pending_request_count\{[^}]*\} (\S+)$", text, re.M))

    def settle(self, seconds=30):
        """Waits until nothing is under way: no request waits, no client is connected but this one."""
        for _ in range(100 * seconds):
            if self.pending() == 0:
                return True
            time.sleep(0.01)
        return False

    def stop(self, how=signal.SIGTERM, timeout=60):
        self.process.send_signal(how)
        return self.process.wait(timeout)

    def end(self):
        if self.alive():
            self.process.kill()
            self.process.wait()
