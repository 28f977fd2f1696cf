#!/usr/bin/env python3
"""Asks a server by Triton's client over gRPC, and compares the replies with NumPy and with the same requests over HTTP.

Usage: tritonclient_check.py HTTP_PORT GRPC_PORT KEY MODEL. KEY is an administrator's, MODEL a file. The server has the models
of tests/serving/grpc/tritonclient_test.cc. Needs tritonclient[grpc] 2.73 (scripts/peers tritonclient).
"""
import http.client
import json
import queue
import sys

import ml_dtypes
import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException, np_to_triton_dtype, serialize_byte_tensor

HTTP_PORT, GRPC_PORT, KEY = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ADMIN = {'authorization': f'Bearer {KEY}'}
VALUES = {
    'BOOL': np.array([True, False, True]),
    'UINT8': np.array([0, 7, 255], np.uint8), 'UINT16': np.array([0, 7, 65535], np.uint16),
    'UINT32': np.array([0, 7, 2**32 - 1], np.uint32), 'UINT64': np.array([0, 7, 2**64 - 1], np.uint64),
    'INT8': np.array([-128, 0, 127], np.int8), 'INT16': np.array([-2**15, 0, 2**15 - 1], np.int16),
    'INT32': np.array([-2**31, 0, 2**31 - 1], np.int32), 'INT64': np.array([-2**63, 0, 2**63 - 1], np.int64),
    'FP16': np.array([-0.0, 65504, np.nan, np.inf], np.float16),
    'BF16': np.array([-0.0, 1.5, np.nan, -np.inf], ml_dtypes.bfloat16),
    'FP32': np.array([-0.0, 1e-45, np.nan, -np.inf, 3.4e38], np.float32),
    'FP64': np.array([-0.0, 5e-324, np.nan, np.inf], np.float64),
    'BYTES': np.array(['', 'text', 'ü', b'\xff\x00\x01'], np.object_),
}
failed = 0


def check(what, good, detail=''):
    global failed
    failed += not good
    print(('ok    ' if good else 'FAILED ') + what + ('' if good else f': {str(detail)[:400]}'))


def error(what, code, text, call):
    """The call has an error with that status, whose message has the text."""
    try:
        reply = call()
        check(f'{what} is {code}', False, reply)
    except InferenceServerException as wrong:
        check(f'{what} is {code}', wrong.status() == f'StatusCode.{code}' and text in wrong.message(), wrong)


def tensor(name, array, datatype=None):
    made = triton.InferInput(name, list(array.shape), datatype or np_to_triton_dtype(array.dtype))
    made.set_data_from_numpy(array)
    return made


def bytes_of(array):
    if array.dtype != np.object_:
        return array.tobytes()
    return serialize_byte_tensor(array).item() if array.size > 0 else b''


def over_http(model, name, datatype, array):
    """The bytes of the only output, asked for over HTTP with the tensor as bytes."""
    data = bytes_of(array)
    head = json.dumps({'inputs': [{'name': name, 'datatype': datatype, 'shape': list(array.shape),
                                   'parameters': {'binary_data_size': len(data)}}],
                       'parameters': {'binary_data_output': True}}).encode()
    connection = http.client.HTTPConnection('127.0.0.1', HTTP_PORT, timeout=60)
    connection.request('POST', f'/v2/models/{model}/infer', head + data, {'Inference-Header-Content-Length': str(len(head))})
    response = connection.getresponse()
    body = response.read()
    return body[int(response.getheader('Inference-Header-Content-Length', '0')):]


def datatypes(client):
    for datatype, values in VALUES.items():
        model = 'same_' + datatype.lower()
        for array in (values, values[:0]):
            result = client.infer(model, [tensor('x', array, datatype)])
            got = result.as_numpy('y')
            raw = result.get_response().raw_output_contents[0]
            check(f'{datatype} {array.shape} comes back', got.shape == array.shape and raw == bytes_of(array), got)
            check(f'{datatype} {array.shape} is the same over HTTP', raw == over_http(model, 'x', datatype, array))


def inferences(client):
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    result = client.infer('scale', [tensor('x', x)], request_id='seven', outputs=[triton.InferRequestedOutput('y')])
    check('outputs that are asked for', np.array_equal(result.as_numpy('y'), 3 * x), result.get_response())
    check('the id is echoed', result.get_response().id == 'seven')
    result = client.infer('scale', [tensor('x', x)], outputs=[triton.InferRequestedOutput('y', class_count=1)])
    best = [row[0].decode() for row in result.as_numpy('y')]
    check('classification', best == ['3:1', '9:1', '15:1'], best)
    result = client.infer('scale', [tensor('x', x)], priority=1, timeout=60_000_000)
    check('parameters', np.array_equal(result.as_numpy('y'), 3 * x))
    large = np.random.default_rng(1).random((200_000, 2), np.float32)
    result = client.infer('scale', [tensor('x', large)])
    check('a large tensor', np.array_equal(result.as_numpy('y'), large * np.float32(3)))
    done = queue.Queue()
    for i in range(50):
        client.async_infer('scale', [tensor('x', x + i)], lambda result, error, i=i: done.put((i, result, error)))
    right = 0
    for _ in range(50):
        i, result, wrong = done.get(timeout=60)
        right += wrong is None and np.array_equal(result.as_numpy('y'), 3 * (x + np.float32(i)))
    check('50 calls at a time', right == 50, right)


def streams(client):
    done = queue.Queue()
    client.start_stream(lambda result, error: done.put((result, error)))
    x = np.ones((1, 2), np.float32)
    for i in range(100):
        name = 'nothing' if i == 50 else 'scale'
        client.async_stream_infer(name, [tensor('x', x * np.float32(i))], request_id=str(i))
    right = 0
    for i in range(100):
        result, wrong = done.get(timeout=60)
        if i == 50:
            right += wrong is not None and 'nothing' in wrong.message()
        else:
            right += wrong is None and result.get_response().id == str(i) and result.as_numpy('y')[0, 0] == 3 * i
    client.stop_stream()
    check('a stream of 100 in their order, one of them wrong', right == 100, right)


def metadata(client):
    check('live and ready', client.is_server_live() and client.is_server_ready() and client.is_model_ready('scale'))
    check('a version is ready', client.is_model_ready('scale', '1'))
    server = client.get_server_metadata()
    check('server metadata', server.name == 'onward' and 'statistics' in server.extensions, server)
    model = client.get_model_metadata('scale')
    check('model metadata', [(t.name, t.datatype, list(t.shape)) for t in model.inputs] == [('x', 'FP32', [-1, 2])] and
          [t.name for t in model.outputs] == ['y'] and list(model.versions) == ['1'] and
          model.platform == 'onnx_onnxv1', model)
    config = client.get_model_config('scale').config
    check('model configuration', config.name == 'scale' and config.input[0].name == 'x' and
          config.input[0].data_type == 11, config)  # 11: TYPE_FP32
    before = client.get_inference_statistics('scale').model_stats[0].inference_count
    client.infer('scale', [tensor('x', np.ones((5, 2), np.float32))])
    statistics = client.get_inference_statistics('scale').model_stats[0]
    check('statistics count rows', statistics.inference_count == before + 5 and
          statistics.inference_stats.success.ns > 0, statistics)
    check('statistics of all models', len(client.get_inference_statistics().model_stats) > 10)


def administration(client):
    index = client.get_model_repository_index(headers=ADMIN)
    check('index', {'scale', 'slow'} <= {m.name for m in index.models if m.state == 'READY'}, index)
    client.unload_model('spare', headers=ADMIN)
    check('an unloaded model is not ready', not client.is_model_ready('spare'))
    error('infer of an unloaded model', 'UNAVAILABLE', 'spare',
          lambda: client.infer('spare', [tensor('x', np.ones((1, 2), np.float32))]))
    client.load_model('spare', headers=ADMIN)
    check('a loaded model is ready', client.is_model_ready('spare'))
    with open(sys.argv[4], 'rb') as file:
        model = file.read()
    client.load_model('brought', headers=ADMIN, config='{"name": "brought"}', files={'file:1/model.onnx': model})
    check('a model comes with the load', client.is_model_ready('brought'))
    error('a load that fails', 'INVALID_ARGUMENT', 'brought', lambda: client.load_model(
        'brought', headers=ADMIN, config='{"name": "brought"}', files={'file:1/model.onnx': b'nonsense'}))
    settings = client.get_log_settings(as_json=True)['settings']
    check('log settings', settings['log_warning']['bool_param'] is True, settings)
    settings = client.update_log_settings({'log_verbose_level': 3}, headers=ADMIN, as_json=True)['settings']
    check('log settings change', settings['log_verbose_level']['uint32_param'] == 3, settings)
    settings = client.get_trace_settings(as_json=True)['settings']
    check('trace settings', settings['trace_rate']['value'] == ['1'], settings)
    settings = client.update_trace_settings(settings={'trace_rate': '7', 'trace_level': ['OFF']}, headers=ADMIN, as_json=True)
    check('trace settings change', settings['settings']['trace_rate']['value'] == ['7'], settings)
    for what, call in (('index', client.get_model_repository_index), ('load', lambda: client.load_model('spare')),
                       ('unload', lambda: client.unload_model('spare')),
                       ('a change of the log', lambda: client.update_log_settings({'log_info': False}))):
        error(f'{what} without a key', 'UNAUTHENTICATED', 'a key is missing', call)
    error('a wrong key', 'PERMISSION_DENIED', "not an administrator's key",
          lambda: client.unload_model('spare', headers={'authorization': 'Bearer wrong'}))


def errors(client):
    x = np.ones((1, 2), np.float32)
    endless = [tensor('trips', np.array(2**60)), tensor('x', np.ones(1, np.float32))]
    error('an unknown model', 'NOT_FOUND', "did you mean 'scale'", lambda: client.infer('scael', [tensor('x', x)]))
    error('an unknown version', 'NOT_FOUND', 'version 9', lambda: client.infer('scale', [tensor('x', x)], model_version='9'))
    error('metadata of an unknown model', 'NOT_FOUND', 'nothing', lambda: client.get_model_metadata('nothing'))
    error('a missing input', 'INVALID_ARGUMENT', "'x'", lambda: client.infer('scale', []))
    error('an unknown input', 'INVALID_ARGUMENT', "'X'", lambda: client.infer('scale', [tensor('X', x)]))
    error('a wrong datatype', 'INVALID_ARGUMENT', 'float64', lambda: client.infer('scale', [tensor('x', x.astype(np.float64))]))
    error('a wrong shape', 'INVALID_ARGUMENT', '[2,1]', lambda: client.infer('scale', [tensor('x', x.reshape(2, 1))]))
    error('an unknown output', 'INVALID_ARGUMENT', "no output 'yy'",
          lambda: client.infer('scale', [tensor('x', x)], outputs=[triton.InferRequestedOutput('yy')]))
    error('a timeout of the request', 'DEADLINE_EXCEEDED', '', lambda: client.infer('slow', endless, timeout=20_000))
    error('a deadline of the call', 'DEADLINE_EXCEEDED', '', lambda: client.infer('slow', endless, client_timeout=0.05))
    check('the server computes after deadlines', client.infer('scale', [tensor('x', x)]).as_numpy('y')[0, 0] == 3)
    for call in (client.get_system_shared_memory_status, client.get_cuda_shared_memory_status,
                 lambda: client.register_system_shared_memory('r', '/r', 16),
                 lambda: client.unregister_cuda_shared_memory('r')):
        error('shared memory', 'UNIMPLEMENTED', 'shared memory is off', call)
    error('compressed messages', 'UNIMPLEMENTED', '',
          lambda: client.infer('scale', [tensor('x', np.ones((5000, 2), np.float32))], compression_algorithm='gzip'))


def main():
    with triton.InferenceServerClient(f'127.0.0.1:{GRPC_PORT}') as client:
        for part in (metadata, datatypes, inferences, streams, administration, errors):
            part(client)
    print(f'{failed} checks failed' if failed else 'all checks hold')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
