"""CUDA's own libraries, called without the program: what they say, how fast they copy and multiply.

Usage: cuda_library.py facts CUDART CUBLASLT CUDNN
       cuda_library.py copies CUDART BYTES
       cuda_library.py products CUDART CUBLASLT SECONDS < PRODUCTS
The arguments are paths of libraries; PRODUCTS is a JSON list of {"dtype", "m", "n", "k"}. Prints JSON.
"""
import ctypes
import functools
import json
import sys
import time

import chains

TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3  # cudaMemcpyKind
ATTRIBUTES = {"multiprocessors": 16, "L2 bytes": 38, "shared memory a block may ask for": 97,
              "shared memory a multiprocessor": 81, "registers a multiprocessor": 82, "memory bus bits": 37}
# cudaDataType of the elements and of alpha, cublasComputeType_t, bytes of an element.
TYPES = {"bfloat16": (14, 0, 68, 2), "float16": (2, 0, 68, 2), "float32": (0, 0, 68, 4), "tf32": (0, 0, 77, 4)}
WORKSPACE = 64 << 20
ALGORITHMS = 16  # that the heuristic is asked for


class Failed(RuntimeError):
    pass


class Heuristic(ctypes.Structure):  # cublasLtMatmulHeuristicResult_t
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
                ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


def check(status, call):
    if status != 0:
        raise Failed(f"{call} returned {status}")


class Runtime:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def call(self, name, *arguments):
        check(getattr(self.library, name)(*arguments), name)

    def allocate(self, size):
        memory = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(memory), ctypes.c_size_t(size))
        return memory

    def copy(self, to, source, size, kind):
        self.call("cudaMemcpy", to, source, ctypes.c_size_t(size), kind)

    def seconds(self, do, least):
        """Mean time of `do` on the device, over enough calls to take `least` seconds together."""
        do()
        self.call("cudaDeviceSynchronize")
        count = 1
        while True:
            begin = time.perf_counter()
            for _ in range(count):
                do()
            self.call("cudaDeviceSynchronize")
            taken = time.perf_counter() - begin
            if taken >= least or count >= 4096:
                return taken / count
            count = max(count * 2, int(count * least / max(taken, 1e-6)))


def facts(runtime_path, cublas_path, cudnn_path):
    found = {}
    runtime = ctypes.CDLL(runtime_path)
    for name, call in (("CUDA of the driver", "cudaDriverGetVersion"), ("CUDA runtime", "cudaRuntimeGetVersion")):
        value = ctypes.c_int()
        if hasattr(runtime, call) and getattr(runtime, call)(ctypes.byref(value)) == 0:
            found[name] = f"{value.value // 1000}.{value.value % 1000 // 10}"
    for name, path, call in (("cuBLASLt", cublas_path, "cublasLtGetVersion"), ("cuDNN", cudnn_path, "cudnnGetVersion")):
        library = ctypes.CDLL(path)
        if hasattr(library, call):
            getattr(library, call).restype = ctypes.c_size_t
            found[name] = str(getattr(library, call)())
    for name, attribute in ATTRIBUTES.items():
        value = ctypes.c_int()
        if hasattr(runtime, "cudaDeviceGetAttribute") and \
                runtime.cudaDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0:
            found[name] = str(value.value)
    return found


def copies(runtime_path, size):
    """Bytes a second, both ways counted within the device."""
    runtime = Runtime(runtime_path)
    one, other = runtime.allocate(size), runtime.allocate(size)
    host = ctypes.create_string_buffer(size)
    runtime.copy(one, host, size, TO_DEVICE)
    inside = runtime.seconds(
        lambda: runtime.call("cudaMemcpyAsync", other, one, ctypes.c_size_t(size), ON_DEVICE, None), 0.2)
    up = runtime.seconds(lambda: runtime.copy(one, host, size, TO_DEVICE), 0.2)
    down = runtime.seconds(lambda: runtime.copy(host, one, size, TO_HOST), 0.2)
    return {"within the device": 2 * size / inside, "to the device": size / up, "to the host": size / down}


@functools.lru_cache(maxsize=1)
def operand(dtype, count):
    return bytes(chains.elements(dtype, (count,), 0))


class Products:
    def __init__(self, runtime, path):
        self.runtime, self.library = runtime, ctypes.CDLL(path)
        self.handle = ctypes.c_void_p()
        self.call("cublasLtCreate", ctypes.byref(self.handle))
        self.workspace = runtime.allocate(WORKSPACE)

    def call(self, name, *arguments):
        check(getattr(self.library, name)(*arguments), name)

    def layout(self, kind, rows, columns):
        made = ctypes.c_void_p()
        self.call("cublasLtMatrixLayoutCreate", ctypes.byref(made), kind, ctypes.c_uint64(rows),
                  ctypes.c_uint64(columns), ctypes.c_int64(rows))
        return made

    def algorithms(self, operation, a, b, d):
        preference = ctypes.c_void_p()
        self.call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        size = ctypes.c_uint64(WORKSPACE)
        self.call("cublasLtMatmulPreferenceSetAttribute", preference, 1, ctypes.byref(size), ctypes.c_size_t(8))
        results, found = (Heuristic * ALGORITHMS)(), ctypes.c_int()
        self.call("cublasLtMatmulAlgoGetHeuristic", self.handle, operation, a, b, d, d, preference, ALGORITHMS,
                  results, ctypes.byref(found))
        return [each for each in results[:found.value] if each.state == 0]

    def measure(self, product, least):
        """Seconds of the algorithm that the heuristic names first, and of the fastest one, of a row-major product."""
        kind, scale, compute, width = TYPES[product["dtype"]]
        m, n, k = product["m"], product["n"], product["k"]
        operation = ctypes.c_void_p()
        self.call("cublasLtMatmulDescCreate", ctypes.byref(operation), compute, scale)
        # Row-major D = A B is column-major D' = B' A'.
        a, b, d = self.layout(kind, n, k), self.layout(kind, k, m), self.layout(kind, n, m)
        memory = [self.runtime.allocate(count * width) for count in (n * k, k * m, n * m)]
        dtype = "float32" if product["dtype"] == "tf32" else product["dtype"]
        for place, count in zip(memory, (n * k, k * m)):
            self.runtime.copy(place, operand(dtype, count), count * width, TO_DEVICE)
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        times, refusals = [], []
        for each in self.algorithms(operation, a, b, d):
            def multiply(chosen=each):
                self.call("cublasLtMatmul", self.handle, operation, ctypes.byref(one), memory[0], a, memory[1], b,
                          ctypes.byref(zero), memory[2], d, memory[2], d, ctypes.byref(chosen), self.workspace,
                          ctypes.c_size_t(WORKSPACE), None)
            try:
                times.append(self.runtime.seconds(multiply, least))
            except Failed as error:
                refusals.append(str(error))
        for place in memory:
            self.runtime.call("cudaFree", place)
        if not times:
            raise Failed(refusals[0] if refusals else "cuBLASLt has no algorithm for it")
        return {"first": times[0], "best": min(times), "algorithms": len(times)}


def products(runtime_path, path, least):
    runtime = Runtime(runtime_path)
    library, results = Products(runtime, path), []
    for product in json.load(sys.stdin):
        try:
            results.append(library.measure(product, least))
        except Failed as error:
            results.append({"why": str(error)})
    return results


def main(what, *arguments):
    if what == "facts":
        found = facts(*arguments)
    elif what == "copies":
        found = copies(arguments[0], int(arguments[1]))
    else:
        found = products(arguments[0], arguments[1], float(arguments[2]))
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
