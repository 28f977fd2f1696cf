#!/usr/bin/env python3
"""Serves small models, and asks them by Triton's client over HTTP, with tensors as bytes and as JSON.

Usage: tritonclient_check.py ONWARD. Needs tritonclient[http] 2.73 (scripts/peers tritonclient); exits with 77 where it is not
installed. Over gRPC: tests/serving/grpc/tritonclient_check.py.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from checks import Checks, Served, in_peer

in_peer('tritonclient')
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import tritonclient.http as triton  # noqa: E402
from tritonclient.utils import InferenceServerException, np_to_triton_dtype  # noqa: E402

checks = Checks()
VALUES = {
    'BOOL': ('BOOL', np.array([True, False, True])),
    'UINT8': ('UINT8', np.array([0, 7, 255], np.uint8)), 'UINT16': ('UINT16', np.array([0, 7, 65535], np.uint16)),
    'UINT32': ('UINT32', np.array([0, 7, 2**32 - 1], np.uint32)),
    'UINT64': ('UINT64', np.array([0, 7, 2**64 - 1], np.uint64)),
    'INT8': ('INT8', np.array([-128, 0, 127], np.int8)), 'INT16': ('INT16', np.array([-2**15, 0, 2**15 - 1], np.int16)),
    'INT32': ('INT32', np.array([-2**31, 0, 2**31 - 1], np.int32)),
    'INT64': ('INT64', np.array([-2**63, 0, 2**63 - 1], np.int64)),
    'FP16': ('FLOAT16', np.array([-0.0, 65504, np.nan, np.inf], np.float16)),
    'BF16': ('BFLOAT16', np.array([-0.0, 1.5, np.nan, -np.inf], ml_dtypes.bfloat16)),
    'FP32': ('FLOAT', np.array([-0.0, 1e-45, np.nan, -np.inf, 3.4e38], np.float32)),
    'FP64': ('DOUBLE', np.array([-0.0, 5e-324, np.nan, np.inf], np.float64)),
    'BYTES': ('STRING', np.array(['', 'text', 'ü', b'\xff\x00\x01'], np.object_)),
}


class Key(triton.InferenceServerClientPlugin):
    """Adds the key to each request."""

    def __init__(self, key):
        self.key = key

    def __call__(self, request):
        request.headers['Authorization'] = f'Bearer {self.key}'


def write_models(folder):
    """A repository with scale (y = 3 x) and one model of each datatype that returns what it gets."""
    import onnx.parser

    def write(name, graph):
        (folder / 'models' / name / '1').mkdir(parents=True)
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
        onnx.save(model, folder / 'models' / name / '1' / 'model.onnx')

    write('scale', '''scale (float[n, 2] x) => (float[n, 2] y) {
        three = Constant <value_float = 3.0> ()
        y = Mul (x, three) }''')
    for datatype, (onnx_type, _) in VALUES.items():
        write('same_' + datatype.lower(), f'same ({onnx_type.lower()}[n] x) => ({onnx_type.lower()}[n] y) {{ y = Identity (x) }}')
    return [str(folder / 'models')]


def tensor(name, array, binary=True, datatype=None):
    made = triton.InferInput(name, list(array.shape), datatype or np_to_triton_dtype(array.dtype))
    made.set_data_from_numpy(array, binary_data=binary)
    return made


def same(got, array):
    if array.dtype == np.object_:
        return [each for each in got] == [each if isinstance(each, bytes) else each.encode() for each in array]
    return got.dtype == array.dtype and got.shape == array.shape and got.tobytes() == array.tobytes()


def datatypes(client):
    for datatype, (_, values) in VALUES.items():
        model = 'same_' + datatype.lower()
        for array in (values, values[:0]):
            got = client.infer(model, [tensor('x', array, datatype=datatype)]).as_numpy('y')
            checks.that(f'{datatype} {array.shape} comes back as bytes', same(got, array), got)
        if datatype in ('FP16', 'BF16'):
            continue  # the client writes them as bytes only
        values = values[np.isfinite(values)] if datatype in ('FP32', 'FP64') else values
        values = values[:3] if datatype == 'BYTES' else values  # JSON has no bytes that are not text
        got = client.infer(model, [tensor('x', values, binary=False, datatype=datatype)],
                           outputs=[triton.InferRequestedOutput('y', binary_data=False)]).as_numpy('y')
        text = [each.encode() if isinstance(each, str) else each for each in got] if datatype == 'BYTES' else got
        checks.that(f'{datatype} comes back as JSON', same(np.array(text, values.dtype) if datatype == 'BYTES' else text, values),
                    got)


def inferences(client):
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    result = client.infer('scale', [tensor('x', x)], request_id='seven', outputs=[triton.InferRequestedOutput('y')])
    checks.that('outputs that are asked for', np.array_equal(result.as_numpy('y'), 3 * x), result.get_response())
    checks.that('the id is echoed', result.get_response()['id'] == 'seven', result.get_response())
    result = client.infer('scale', [tensor('x', x)], outputs=[triton.InferRequestedOutput('y', class_count=1)])
    best = [row[0].decode() for row in result.as_numpy('y')]
    checks.that('classification', best == ['3:1', '9:1', '15:1'], best)
    result = client.infer('scale', [tensor('x', x)], priority=1, timeout=60_000_000)
    checks.that('parameters', np.array_equal(result.as_numpy('y'), 3 * x))
    large = np.random.default_rng(1).random((200_000, 2), np.float32)
    for request in (None, 'gzip', 'deflate'):
        for reply in (None, 'gzip', 'deflate'):
            result = client.infer('scale', [tensor('x', large)], request_compression_algorithm=request,
                                  response_compression_algorithm=reply)
            checks.that(f'compression: request {request}, reply {reply}',
                        np.array_equal(result.as_numpy('y'), large * np.float32(3)))
    waiting = [client.async_infer('scale', [tensor('x', x + np.float32(i))]) for i in range(50)]
    right = sum(np.array_equal(each.get_result().as_numpy('y'), 3 * (x + np.float32(i))) for i, each in enumerate(waiting))
    checks.that('50 calls at a time', right == 50, right)
    body, size = client.generate_request_body([tensor('x', x)], outputs=[triton.InferRequestedOutput('y')])
    checks.that('a body that is made before', len(body) > size > 0)


def metadata(client):
    checks.that('live and ready', client.is_server_live() and client.is_server_ready() and client.is_model_ready('scale'))
    checks.that('a version is ready', client.is_model_ready('scale', '1') and not client.is_model_ready('scale', '2'))
    server = client.get_server_metadata()
    checks.that('server metadata', server['name'] == 'onward' and 'binary_tensor_data' in server['extensions'], server)
    model = client.get_model_metadata('scale')
    checks.that('model metadata', model['inputs'] == [{'name': 'x', 'datatype': 'FP32', 'shape': [-1, 2]}] and
                model['versions'] == ['1'] and model['platform'] == 'onnx_onnxv1', model)
    config = client.get_model_config('scale')
    checks.that('model configuration', config['input'][0]['data_type'] == 'TYPE_FP32', config)
    before = client.get_inference_statistics('scale')['model_stats'][0]['inference_count']
    client.infer('scale', [tensor('x', np.ones((5, 2), np.float32))])
    statistics = client.get_inference_statistics('scale')['model_stats'][0]
    checks.that('statistics count rows', statistics['inference_count'] == before + 5, statistics)
    checks.that('statistics of all models', len(client.get_inference_statistics()['model_stats']) == 15)


def errors(client):
    x = np.ones((1, 2), np.float32)

    def error(what, status, text, call):
        try:
            reply = call()
            checks.that(f'{what} is {status}', False, reply)
        except InferenceServerException as wrong:
            checks.that(f'{what} is {status}', str(wrong.status()) == str(status) and text in wrong.message(), wrong)

    error('an unknown model', 404, "did you mean 'scale'", lambda: client.infer('scael', [tensor('x', x)]))
    error('an unknown version', 404, 'version 9', lambda: client.infer('scale', [tensor('x', x)], model_version='9'))
    error('an unknown input', 400, "'X'", lambda: client.infer('scale', [tensor('X', x)]))
    error('a wrong datatype', 400, 'float64', lambda: client.infer('scale', [tensor('x', x.astype(np.float64))]))
    error('a wrong shape', 400, '[2,1]', lambda: client.infer('scale', [tensor('x', x.reshape(2, 1))]))
    error('an unknown output', 400, "'yy'",
          lambda: client.infer('scale', [tensor('x', x)], outputs=[triton.InferRequestedOutput('yy')]))
    error('a load without an administrator', 403, '', lambda: client.load_model('scale'))
    checks.that('the server works after errors', client.infer('scale', [tensor('x', x)]).as_numpy('y')[0, 0] == 3)


def main():
    with Served(sys.argv[1], write_models) as served:
        client = triton.InferenceServerClient(served.url.removeprefix('http://'), concurrency=8)
        client.register_plugin(Key(served.key))
        for part in (metadata, datatypes, inferences, errors):
            part(client)
        client.close()
    return checks.finish()


if __name__ == '__main__':
    sys.exit(main())
