#!/usr/bin/env python3
"""Checks a server by the Open Inference Protocol v2 over HTTP: paths, bodies, statuses, errors, extensions that it announces.

Usage: oip_conformance.py URL [MODEL]. Any server, any model whose inputs are tensors; without MODEL the first of GET
/v2/models. Inputs are zeros, dims that vary are 1. Prints a line for each check and exits with 1 if one failed. Only Python's
standard library is needed.
"""
import gzip
import http.client
import json
import math
import re
import struct
import sys
import urllib.parse
import zlib

SIZES = {'BOOL': 1, 'UINT8': 1, 'UINT16': 2, 'UINT32': 4, 'UINT64': 8, 'INT8': 1, 'INT16': 2, 'INT32': 4, 'INT64': 8,
         'FP16': 2, 'BF16': 2, 'FP32': 4, 'FP64': 8}
LENGTH = 'Inference-Header-Content-Length'


class Server:
    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.prefix = parts.hostname, parts.port or 80, parts.path.rstrip('/')
        self.connection = None
        self.failed = 0

    def ask(self, method, path, body=None, fields=None):
        """One connection for all: what is wrong with a request must not end it."""
        self.connection = self.connection or http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            self.connection.request(method, self.prefix + path, body, fields or {})
            response = self.connection.getresponse()
            return Reply(response, response.read())
        except (http.client.HTTPException, OSError) as error:
            self.connection = None
            return Reply(None, repr(error).encode())

    def check(self, what, good, detail=''):
        self.failed += not good
        print(('ok    ' if good else 'FAILED ') + what + ('' if good else f': {str(detail)[:300]}'))

    def error(self, what, reply, *statuses):
        """An error has one of the statuses and the protocol's body."""
        message = (reply.json() or {}).get('error')
        good = reply.status in statuses and isinstance(message, str) and reply.field('content-type') == 'application/json'
        self.check(f'{what} is {"/".join(map(str, statuses))} with an error', good, reply)


class Reply:
    def __init__(self, response, body):
        self.response, self.body = response, body
        self.status = response.status if response else 0

    def field(self, name):
        return self.response.getheader(name) if self.response else None

    def json(self):
        try:
            document = json.loads(self.body[:int(self.field(LENGTH) or len(self.body))])
        except ValueError:
            return None
        return document if isinstance(document, dict) else None

    def binary(self):
        return self.body[int(self.field(LENGTH) or len(self.body)):]

    def __str__(self):
        return f'{self.status} {self.body[:200]!r}'


def zeros(tensor, binary=False):
    """An input, and its bytes where they are wanted."""
    shape = [1 if dim < 0 else dim for dim in tensor['shape']]
    count, datatype = math.prod(shape), tensor['datatype']
    made = {'name': tensor['name'], 'shape': shape, 'datatype': datatype}
    if binary:
        data = bytes(count * SIZES.get(datatype, 4))
        made['parameters'] = {'binary_data_size': len(data)}
        return made, data
    made['data'] = [{'BOOL': False, 'BYTES': ''}.get(datatype, 0)] * count
    return made, b''


def check_health(server):
    for path, name in ('/v2/health/live', 'live'), ('/v2/health/ready', 'ready'):
        reply = server.ask('GET', path)
        server.check(f'GET {path}', reply.status == 200 and (reply.json() or {}).get(name) is True, reply)
    for path in '/v2', '/v2/', '/v2?any=thing':
        reply = server.ask('GET', path)
        document = reply.json() or {}
        good = reply.status == 200 and isinstance(document.get('extensions'), list) and {'name', 'version'} <= set(document)
        server.check(f'GET {path} has name, version, extensions', good, reply)
    return document.get('extensions', [])


def check_paths(server, path):
    for method, known in ('PUT', path + '/infer'), ('DELETE', '/v2/health/live'), ('POST', path), ('GET', path + '/infer'):
        reply = server.ask(method, known)
        server.check(f'{method} {known} is 405', reply.status == 405, reply)
    server.check('HEAD /v2 is 405', server.ask('HEAD', '/v2').status == 405)
    server.error('GET of an unknown path', server.ask('GET', '/v2/nowhere'), 404)
    server.error('an unknown model', server.ask('GET', '/v2/models/no-such-model'), 404)
    server.error('an unknown version', server.ask('GET', path + '/versions/987654'), 404)
    server.error('inference with an unknown model', server.ask('POST', '/v2/models/no-such-model/infer', '{"inputs":[]}'), 404)
    reply = server.ask('GET', path + '/ready')
    server.check('the model is ready', reply.status == 200 and (reply.json() or {}).get('ready') is True, reply)


def check_metadata(server, path, model):
    reply = server.ask('GET', path)
    metadata = reply.json() or {}
    tensors = metadata.get('inputs', []) + metadata.get('outputs', [])
    good = metadata.get('name') == model and isinstance(metadata.get('platform'), str) and bool(tensors)
    server.check('metadata has name and platform', reply.status == 200 and good, reply)
    for tensor in tensors:
        good = tensor.get('datatype') in {*SIZES, 'BYTES'} and all(isinstance(dim, int) and dim >= -1 for dim in tensor['shape'])
        server.check(f"tensor '{tensor.get('name')}' has datatype and shape", good, tensor)
    for version in metadata.get('versions', []):
        one = server.ask('GET', f'{path}/versions/{version}').json() or {}
        server.check(f'metadata of version {version}', one.get('versions') == [version], one)
    return metadata


def check_inference(server, path, metadata, request):
    names = [output['name'] for output in metadata['outputs']]
    for wanted in '7', '', 'ü\n', 'x' * 10000:
        reply = server.ask('POST', path, json.dumps({**request, 'id': wanted, 'model_name': 'ignored', 'other': {'a': []}}))
        document = reply.json() or {}
        good = reply.status == 200 and document.get('id') == wanted and document.get('model_name') == metadata['name']
        server.check(f'inference echoes the id {wanted[:10]!r}', good, reply)
    reply = server.ask('POST', path, json.dumps(request))
    outputs = (reply.json() or {}).get('outputs', [])
    server.check('all outputs in the order of the model', [output['name'] for output in outputs] == names, reply)
    server.check('no id without one', 'id' not in (reply.json() or {'id': 0}), reply)
    server.check('a reply in JSON is application/json', reply.field('content-type') == 'application/json')
    for output in outputs:
        good = len(output.get('data', [])) == math.prod(output['shape'])
        server.check(f"output '{output['name']}' has the elements of its shape", good, output)
    asked = names[::-1]
    reply = server.ask('POST', path, json.dumps({**request, 'outputs': [{'name': name} for name in asked]}))
    got = [output['name'] for output in (reply.json() or {}).get('outputs', [])]
    server.check('outputs in the order asked for', got == asked, reply)
    text = json.dumps(request).encode()
    chunks = (text[at:at + 1 + len(text) // 2000] for at in range(0, len(text), 1 + len(text) // 2000))
    reply = server.ask('POST', path, chunks)  # which has no length
    server.check('a body in many chunks', reply.status == 200, reply)
    return outputs


def check_refusals(server, path, request):
    for what, body in ('no body', None), ('no JSON', '{"inputs":['), ('an array', '[]'), ('no inputs', '{}'), (
            '100,000 brackets', '[' * 100000):
        server.error(what, server.ask('POST', path, body), 400)
    first, others = request['inputs'][0], request['inputs'][1:]
    wrongs = {'an unknown input': {'name': 'no such input'}, 'an unknown datatype': {'datatype': 'FP31'},
              'a negative dim': {'shape': [-1]}, 'a shape of 2^62 elements': {'shape': [2 ** 31, 2 ** 31]},
              'one element too many': {'data': first['data'] + first['data'][:1] or [0]},
              'one element too few': {'data': first['data'][1:]}, 'data nested 101 deep': {'data': json.loads('[' * 101 + ']' * 101)},
              'an input without data': {'data': None},
              'two sources of data': {'parameters': {'binary_data_size': 4}}}
    for what, change in wrongs.items():
        changed = {name: value for name, value in {**first, **change}.items() if value is not None}
        server.error(what, server.ask('POST', path, json.dumps({'inputs': [changed] + others})), 400)
    server.error('no input', server.ask('POST', path, '{"inputs":[]}'), 400)
    server.error('an input twice', server.ask('POST', path, json.dumps({'inputs': [first, first] + others})), 400)
    for what, outputs in ('an unknown output', ['no such output']), ('an output twice', ['y', 'y']):
        server.error(what, server.ask('POST', path, json.dumps({**request, 'outputs': [{'name': name} for name in outputs]})), 400)
    server.error("a client's triton_ parameter", server.ask('POST', path, json.dumps({**request, 'parameters': {'triton_a': 1}})), 400)
    server.check('the same request is answered after all this', server.ask('POST', path, json.dumps(request)).status == 200)


def check_binary(server, path, metadata, json_outputs):
    inputs, parts = zip(*[zeros(tensor, True) for tensor in metadata['inputs']])
    asked = json.dumps({'inputs': inputs, 'parameters': {'binary_data_output': True}}).encode()
    body, exact = asked + b''.join(parts), str(len(asked))
    reply = server.ask('POST', path, body, {LENGTH: exact})
    server.check('bytes in and out', reply.status == 200 and reply.field('content-type') == 'application/octet-stream', reply)
    rest = reply.binary()
    for output, expected in zip((reply.json() or {}).get('outputs', []), json_outputs):
        size = output.get('parameters', {}).get('binary_data_size', -1)
        data, rest = rest[:max(size, 0)], rest[max(size, 0):]
        good = 'data' not in output and output['shape'] == expected['shape'] and len(data) == size
        if output['datatype'] in SIZES:
            good = good and size == math.prod(output['shape']) * SIZES[output['datatype']]
        if output['datatype'] == 'FP32' and good:
            good = [struct.unpack('<f', struct.pack('<f', x))[0] for x in expected['data']] == list(struct.unpack(f'<{size // 4}f', data))
        server.check(f"output '{output['name']}' as bytes is what it is in JSON", good, output)
    server.check('no bytes are left', rest == b'', len(rest))
    one = {'inputs': inputs, 'parameters': {'binary_data_output': True}, 'outputs': [
        {'name': metadata['outputs'][0]['name'], 'parameters': {'binary_data': False}}]}
    text = json.dumps(one).encode()
    reply = server.ask('POST', path, text + b''.join(parts), {LENGTH: str(len(text))})
    server.check('bytes in, JSON out', reply.status == 200 and 'data' in (reply.json() or {}).get('outputs', [{}])[0], reply)
    for value in str(len(asked) - 1), str(len(asked) + 1), '-1', '+5', '2147483648', '18446744073709551616', 'many', '1.0':
        server.error(f'{LENGTH}: {value}', server.ask('POST', path, body, {LENGTH: value}), 400)
    server.error('a byte too few', server.ask('POST', path, body[:-1], {LENGTH: exact}), 400)
    server.error('a byte too many', server.ask('POST', path, body + b'\0', {LENGTH: exact}), 400)
    server.check('bytes are read after all this', server.ask('POST', path, body, {LENGTH: exact}).status == 200)
    return body, exact


def check_compression(server, path, request):
    text = json.dumps(request).encode()
    for coding, compress in ('gzip', gzip.compress), ('deflate', zlib.compress):
        sent = compress(text)
        fields = {'Content-Encoding': coding}
        server.check(f'a {coding} body', server.ask('POST', path, sent, fields).status == 200)
        server.error(f'a truncated {coding} body', server.ask('POST', path, sent[:-3], fields), 400)
        reply = server.ask('POST', path, json.dumps({**request, 'id': 'x' * 5000}), {'Accept-Encoding': coding})
        got = reply.body
        if reply.field('content-encoding') == coding:
            got = zlib.decompress(got, 47 if coding == 'gzip' else 15)
        server.check(f'a reply to one who accepts {coding}', reply.status == 200 and json.loads(got)['id'] == 'x' * 5000, reply)
    server.error('an unknown coding', server.ask('POST', path, text, {'Content-Encoding': 'br'}), 415, 501)


def check_classification(server, path, request, output):
    asked = {**request, 'outputs': [{'name': output['name'], 'parameters': {'classification': 2}}]}
    reply = server.ask('POST', path, json.dumps(asked))
    made = (reply.json() or {}).get('outputs', [{}])[0]
    good = reply.status == 200 and made.get('datatype') == 'BYTES' and made['shape'][-1] <= 2
    good = good and all(re.fullmatch(r'[^:]+:\d+(:.*)?', text) for text in made['data'])
    server.check(f"classes of output '{output['name']}'", good, reply)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    server = Server(sys.argv[1])
    extensions = check_health(server)
    models = (server.ask('GET', '/v2/models').json() or {}).get('models', [])
    if len(sys.argv) < 3 and not models:
        sys.exit('the server does not list its models: name one')
    model = sys.argv[2] if len(sys.argv) == 3 else models[0]
    path = '/v2/models/' + urllib.parse.quote(model, safe='')
    metadata = check_metadata(server, path, model)
    check_paths(server, path)
    request = {'inputs': [zeros(tensor)[0] for tensor in metadata.get('inputs', [])]}
    outputs = check_inference(server, path + '/infer', metadata, request)
    check_refusals(server, path + '/infer', request)
    check_compression(server, path + '/infer', request)
    if 'binary_tensor_data' in extensions:
        check_binary(server, path + '/infer', metadata, outputs)
    if 'classification' in extensions and outputs and outputs[0]['datatype'] in ('FP32', 'FP64'):
        check_classification(server, path + '/infer', request, outputs[0])
    print(f'{server.failed} checks failed' if server.failed else 'all checks passed')
    sys.exit(server.failed > 0)


if __name__ == '__main__':
    main()
