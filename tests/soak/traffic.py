"""What clients send: right requests, and everything else."""
import json
import random
import socket
import struct
import zlib


def infer_body(values):
    """A request of the model that doubles: x is float32[n,2]."""
    rows = len(values) // 2
    return json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, 2], "data": values}]}).encode()


def infer_request(model, body, fields=b""):
    return (f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: soak\r\nContent-Length: {len(body)}\r\n"
            .encode() + fields + b"\r\n" + body)


def leave_somewhere(port, request, draw):
    """A client that sends a part of a request, or all, and is gone, by FIN or RST, at a drawn moment."""
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    try:
        whole = draw.random() < 0.5
        client.sendall(request if whole else request[:draw.randrange(len(request) + 1)])
        if whole and draw.random() < 0.5:
            client.recv(1)
        if draw.random() < 0.5:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    finally:
        client.close()


def mutated(request, draw):
    """A right request with a few bytes changed, cut, doubled."""
    data = bytearray(request)
    for _ in range(draw.randrange(1, 6)):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(4)
        if kind == 0 and at < len(data):
            data[at] = draw.randrange(256)
        elif kind == 1:
            del data[at:at + draw.randrange(1, 20)]
        elif kind == 2:
            data[at:at] = data[at:at + draw.randrange(1, 40)]
        else:
            data[at:at] = draw.choice([b"\r\n", b"\0", b"-1", b"9" * 30, b"[" * 200, b"NaN", b"\xff\xfe", b'"'])
        if not data:
            data = bytearray(b"G")
    return bytes(data)


def attacks(model, most_body):
    """Requests that are refused, each with the statuses that may come; () : the connection is closed."""
    head = f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: soak\r\n".encode()

    def body(data, fields=b""):
        return infer_request(model, data, fields)

    bomb = zlib.compress(b" " * (most_body + (1 << 20)), 9)
    tensor = '{"inputs":[{"name":"x","datatype":"FP32","shape":%s,"data":[1,2]}]}'
    return [
        ("no Host", b"GET /v2 HTTP/1.1\r\n\r\n", (400,)),
        ("two lengths", head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", (400,)),
        ("length and chunks", head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400,)),
        ("unknown coding", head + b"Transfer-Encoding: gzip\r\n\r\n", (400,)),
        ("folded field", head + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}", (400,)),
        ("bare newline", b"GET /v2 HTTP/1.1\nHost: soak\r\n\r\n", (400,)),
        ("dots in the path", b"GET /v2/models/%2e%2e/ready HTTP/1.1\r\nHost: soak\r\n\r\n", (400,)),
        ("slash in a name", b"GET /v2/models/a%2fb/ready HTTP/1.1\r\nHost: soak\r\n\r\n", (400,)),
        ("target is not a path", b"GET http://x/ HTTP/1.1\r\nHost: soak\r\n\r\n", (400, 404)),
        ("long line", b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: soak\r\n\r\n", (414,)),
        ("10,000 fields", b"GET /v2 HTTP/1.1\r\nHost: soak\r\n" + b"a: b\r\n" * 10000 + b"\r\n", (431,)),
        ("long header", b"GET /v2 HTTP/1.1\r\nHost: soak\r\nx: " + b"a" * 70000 + b"\r\n\r\n", (431,)),
        ("large body", head + f"Content-Length: {most_body + 1}\r\n\r\n".encode(), (413,)),
        ("bomb", body(bomb, b"Content-Encoding: deflate\r\n"), (413,)),
        ("cut-off gzip", body(b"\x1f\x8b\x08\0", b"Content-Encoding: gzip\r\n"), (400,)),
        ("unknown content coding", body(b"{}", b"Content-Encoding: br\r\n"), (415,)),
        ("deep JSON", body(b"[" * 100000), (400,)),
        ("deep data", body((tensor % "[1,2]").replace("[1,2]}", "[" * 5000 + "]" * 5000 + "}").encode()), (400,)),
        ("not JSON", body(b"\xff\0"), (400,)),
        ("empty body", body(b""), (400,)),
        ("huge shape", body((tensor % "[1099511627776,1]").encode()), (400,)),
        ("overflowing shape", body((tensor % "[4294967296,4294967296,4294967296]").encode()), (400,)),
        ("negative dim", body((tensor % "[-1,2]").encode()), (400,)),
        ("dim that is not a number", body((tensor % '["2"]').encode()), (400,)),
        ("header length above the body", body(b"{}", b"Inference-Header-Content-Length: 99\r\n"), (400,)),
        ("negative header length", body(b"{}", b"Inference-Header-Content-Length: -1\r\n"), (400,)),
        ("shared memory", body((tensor % '[1,2],"parameters":{"shared_memory_region":"r"}').encode()), (400,)),
        ("load without a key", b"POST /v2/repository/models/x/load HTTP/1.1\r\nHost: soak\r\n\r\n", (401,)),
        ("load with a wrong key", b"POST /v2/repository/models/x/load HTTP/1.1\r\nHost: soak\r\n"
         b"Authorization: Bearer wrong\r\n\r\n", (403,)),
        ("unknown model", body(b"{}").replace(model.encode(), b"nobody", 1), (404,)),
    ]


def one_byte_chunks(model, count):
    return (f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: soak\r\nTransfer-Encoding: chunked\r\n\r\n"
            .encode() + b"1\r\n \r\n" * count + b"0\r\n\r\n")


def status_of(reply):
    """0: there is none."""
    return int(reply[9:12]) if reply.startswith(b"HTTP/1.1 ") and reply[9:12].isdigit() else 0


def generator(seed):
    return random.Random(seed)
