"""The promises that a server keeps under pressure; each is a function that returns figures and appends to `broken`."""
import concurrent.futures
import json
import os
import re
import signal
import socket
import time

import traffic

MODEL = "twice"
MEBIBYTE = 1 << 20


def right_reply(body, values):
    return json.loads(body)["outputs"][0]["data"] == [2 * value for value in values]


def check(broken, holds, what):
    if not holds:
        broken.append(what)


def hostile(soak, server, seconds, broken):
    """2, 3, 12, 24: known attacks and drawn ones are refused; the server lives; texts have no secrets."""
    texts = []
    for name, data, statuses in traffic.attacks(MODEL, soak.most_body):
        begin = time.monotonic()
        reply = server.send(data)
        texts.append(reply)
        status = traffic.status_of(reply)
        check(broken, status in statuses, f"{name}: status {status}, expected one of {statuses}")
        check(broken, time.monotonic() - begin < 10, f"{name}: took more than 10 s")
    before = server.memory()
    count = 100_000 if soak.whole else 20_000
    for chunks, status in ((count, 413 if count > 65536 else 400), (70_000, 413)):
        got = traffic.status_of(server.send(traffic.one_byte_chunks(MODEL, chunks), 120))
        check(broken, got == status, f"{chunks} chunks of a byte: {got}, not {status}")
    draw = traffic.generator(soak.seed)
    request = traffic.infer_request(MODEL, traffic.infer_body([1, 2]))
    tried, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        reply = server.send(traffic.mutated(request, draw), 20, leaves=True)
        texts.append(reply[:2000])
        check(broken, traffic.status_of(reply) in (0, 200, 400, 404, 405, 408, 411, 413, 414, 417, 431, 501),
              f"a mutated request (seed {soak.seed}, number {tried}) got {traffic.status_of(reply)}")
        tried += 1
    check(broken, server.ready(), "the server is not ready after hostile requests")
    grown = (server.memory() - before) / MEBIBYTE
    check(broken, grown < 64, f"hostile requests left {grown:.0f} MiB")
    texts.append(open(server.log, "rb").read())
    for text in texts:
        found = re.search(rb"/tmp/|/home/|/root/|0x[0-9a-f]{6,}|secret-|\.cc:\d", text)
        check(broken, found is None, f"a text has {found and found[0]!r}: {text[:300]!r}")
    return {"mutated": tried, "grown_mib": round(grown, 1)}


def leaving(soak, server, seconds, broken):
    """10: clients that are gone at any moment leave nothing behind."""
    draw = traffic.generator(soak.seed + 1)
    request = traffic.infer_request(MODEL, traffic.infer_body(list(range(2000))))
    for _ in range(500):
        traffic.leave_somewhere(server.port, request, draw)
    server.settle()
    time.sleep(0.5)
    memory, descriptors, count = server.memory(), server.descriptors(), 500
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        traffic.leave_somewhere(server.port, request, draw)
        count += 1
    check(broken, server.settle(), "requests of clients that left still wait")
    time.sleep(1)
    grown = (server.memory() - memory) / MEBIBYTE
    left = server.descriptors() - descriptors
    check(broken, grown < 5, f"{count} clients that left cost {grown:.1f} MiB")
    check(broken, left <= 2, f"{count} clients that left leave {left} descriptors")
    return {"clients": count, "grown_mib": round(grown, 1), "descriptors": left}


def slow(soak, server, seconds, broken):
    """11, 23: clients that send a header slowly, or nothing, and the memory of idle connections."""
    before = server.memory()
    wanted = 4000 if soak.whole else 300
    clients = []
    try:
        for i in range(wanted):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            if i % 2:
                client.sendall(b"GET /v2 HTTP/1.1\r\nHost: soak\r\nX: ")
            clients.append(client)
        each = (server.memory() - before) / wanted
        limit = 20 * 1024 if soak.whole else 40 * 1024
        check(broken, each < limit, f"a connection costs {each:.0f} bytes")
        report = soak.load(server, 50, seconds, broken)
        check(broken, server.ready(), "health probes fail beside slow clients")
    finally:
        for client in clients:
            client.close()
    return {"connections": wanted, "bytes_each": round(each), "p99_ms": report["latency_ms"].get("p99")}


def capacity(soak, server, broken, **request):
    """The most right replies a second: of loads that double until a tenth is refused."""
    best, rate = 100, 100
    while rate < 50000:
        report = soak.load(server, rate, 1, broken, may_lose=True, **request)
        best = max(best, report["right_per_s"])
        if report["right_per_s"] < 0.9 * rate:
            break
        rate *= 2
    return best


def overload(soak, _server, seconds, broken):
    """14, 17: ten times what the server can do: it does as much, refuses the rest at once with Retry-After, and recovers."""
    server = soak.start("--max-wait", "50ms", "--threads", "1", models=[soak.chain])
    chain = {"model": "chain", "rows": 32}  # as many as a batch may have
    # Clients and server share the cores, and the short run measures for seconds: its bars are low.
    least, most_ms = (0.95, 10) if soak.whole else (0.5, 200)
    try:
        quiet = soak.load(server, 100, max(1, seconds / 10), broken, **chain)
        full = capacity(soak, server, broken, **chain)
        rate = min(50000, 10 * full)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            loading = pool.submit(soak.load, server, rate, seconds * 0.8, broken, may_lose=True, **chain)
            refusal = None
            while refusal is None and not loading.done():
                status, fields, _ = server.ask("POST", "/v2/models/chain/infer", traffic.infer_body([1, 2]))
                refusal = fields if status == 503 else None
            loaded = loading.result()
        check(broken, set(loaded["by_status"]) <= {"200", "503"}, f"statuses under overload: {loaded['by_status']}")
        check(broken, "503" in loaded["by_status"], "nothing was refused under overload")
        check(broken, refusal is None or "Retry-After" in refusal, f"a refusal without Retry-After: {refusal}")
        check(broken, loaded["right_per_s"] >= least * full,
              f"{loaded['right_per_s']:.0f} right replies a second under overload, {full:.0f} without")
        refused_ms = loaded["refusal_ms"].get("p99", 0)
        check(broken, soak.sanitized or refused_ms <= most_ms, f"99 % of refusals come within {refused_ms:.1f} ms")
        check(broken, server.settle(1), "requests still wait a second after overload")
        status = server.ask("POST", "/v2/models/chain/infer", traffic.infer_body([3, 4]))[0]
        check(broken, status == 200, f"a lone request after overload got {status}")
    finally:
        server.end()
    return {"rate": round(rate), "capacity": round(full), "right_per_s": round(loaded["right_per_s"]),
            "by_status": loaded["by_status"], "refusal_p99_ms": loaded["refusal_ms"].get("p99"),
            "quiet_p99_ms": quiet["latency_ms"].get("p99")}


def reloads(soak, server, seconds, broken):
    """15, 17: the model is loaded anew, each tenth time from a broken file, while clients ask."""
    fields = {"Authorization": "Bearer secret-admin"}
    good = soak.model_bytes(MODEL)
    path = os.path.join(soak.repository, MODEL, "1", "model.onnx")
    memory, count, end = None, 0, time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asking = pool.submit(soak.load, server, 200, seconds, broken)
        while time.monotonic() < end:
            bad = count % 10 == 9
            with open(path + ".new", "wb") as file:
                file.write(b"not a model" if bad else good)
            os.replace(path + ".new", path)
            status = server.ask("POST", f"/v2/repository/models/{MODEL}/load", b"{}", fields)[0]
            check(broken, (status == 200) != bad, f"load {count} of a {'bad' if bad else 'good'} model got {status}")
            count += 1
            if count == 20:
                memory = server.memory()
        asking.result()
    with open(path, "wb") as file:
        file.write(good)
    grown = (server.memory() - memory) / max(1, count - 20) if memory else 0
    if soak.whole:
        check(broken, grown < 50 * 1024, f"a reload costs {grown:.0f} bytes")
    return {"reloads": count, "bytes_each": round(grown)}


def shutdown(soak, _server, _seconds, broken):
    """16: SIGTERM with requests in flight: none is lost, and the server ends with 0."""
    server = soak.start()
    try:
        clients = []
        values = list(range(4000))
        request = traffic.infer_request(MODEL, traffic.infer_body(values))
        for _ in range(64):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            client.sendall(request)
            clients.append(client)
        # All have been read once later requests have their replies.
        for _ in range(20):
            server.ready()
        server.process.send_signal(signal.SIGTERM)
        for client in clients:
            reply = b""
            while part := client.recv(65536):
                reply += part
            body = reply[reply.find(b"\r\n\r\n") + 4:]
            check(broken, traffic.status_of(reply) == 200 and right_reply(body, values),
                  f"a request in flight at SIGTERM got {reply[:80]!r}")
            client.close()
        status = server.process.wait(60)
        check(broken, status == 0, f"the server ended with {status}")
    finally:
        server.end()
    return {"in_flight": 64}


def memory(soak, _server, _seconds, broken):
    """8: a server that may take no more memory refuses what does not fit and serves the rest."""
    if soak.sanitized:
        return {"skipped": "a sanitizer needs its address space"}
    import resource
    server = soak.start(most_body="1GB")
    try:
        with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
            size = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
        most = size + 64 * MEBIBYTE
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (most, most))
        head = f"POST /v2/models/{MODEL}/infer HTTP/1.1\r\nHost: soak\r\nContent-Length: 900000000\r\n\r\n"
        refused = 0
        for _ in range(5):
            refused += traffic.status_of(server.send(head.encode() + b" " * (96 * MEBIBYTE))) == 503
            check(broken, server.ready(), "the server is not ready after it ran out of memory")
        check(broken, refused == 5, f"{refused} of 5 bodies that do not fit got 503")
    finally:
        server.end()
    return {"refused": refused}


def endurance(soak, server, seconds, broken):
    """17, 18: every reply is right for as long as it takes; memory, descriptors and threads stay."""
    soak.load(server, 500, min(20, seconds / 4), broken)
    threads = len(os.listdir(f"/proc/{server.process.pid}/task"))
    before, descriptors = server.memory(), server.descriptors()
    report = soak.load(server, 1000, seconds, broken)
    slope = (server.memory() - before) / MEBIBYTE / (seconds / 3600)
    if seconds >= 600:
        check(broken, slope < 1, f"memory grows by {slope:.1f} MiB an hour")
    check(broken, server.descriptors() <= descriptors + 2, "descriptors are left")
    check(broken, len(os.listdir(f"/proc/{server.process.pid}/task")) == threads, "threads are left")
    return {"replies": report["replies"], "wrong": report["wrong"], "mib_per_hour": round(slope, 1)}


PROMISES = [hostile, leaving, slow, overload, reloads, shutdown, memory, endurance]
