#!/usr/bin/env python3
"""Serves small models of text, and asks them by OpenAI's own client.

Usage: openai_check.py ONWARD. Needs openai and onnx (scripts/peers openai); exits with 77 where they are not installed.
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import text_models
from checks import Checks, Served, in_peer

in_peer('openai')
import openai  # noqa: E402
import pydantic  # noqa: E402

checks = Checks()
TOOLS = [{'type': 'function', 'function': {
    'name': 'weather', 'parameters': {'type': 'object', 'additionalProperties': False, 'required': ['place'], 'properties': {
        'place': {'type': 'string', 'maxLength': 5}, 'days': {'enum': [1, 7]}}}}},
    {'type': 'function', 'function': {'name': 'now', 'parameters': {'type': 'object', 'maxProperties': 0}}}]


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=8)
    age: int = pydantic.Field(ge=0, le=150)
    kind: str | None = pydantic.Field(max_length=3)


def user(text):
    return [{'role': 'user', 'content': text}]


def models(client):
    names = [model.id for model in client.models.list()]
    checks.that('models are listed', sorted(names) == ['letters', 'noise', 'vectors'], names)
    checks.that('one model', client.models.retrieve('letters').owned_by != '')
    try:
        client.models.retrieve('leters')
        checks.that('an unknown model is NotFoundError', False)
    except openai.NotFoundError as wrong:
        checks.that('an unknown model is NotFoundError', wrong.code == 'model_not_found', wrong)


def completions(client):
    reply = client.completions.create(model='letters', prompt='ab', temperature=0, max_tokens=3)
    checks.that('a completion', (reply.choices[0].text, reply.choices[0].finish_reason) == ('cde', 'length'), reply)
    checks.that('its usage', (reply.usage.prompt_tokens, reply.usage.total_tokens) == (2, 5), reply.usage)
    reply = client.completions.create(model='letters', prompt=['w', 'x'], temperature=0, echo=True, logprobs=2, stop='é')
    checks.that('several prompts with echo and a stop string', [c.text for c in reply.choices] == ['wxyz', 'xyz'], reply)
    checks.that('scores of tokens', reply.choices[0].logprobs.tokens[:2] == ['w', 'x'] and
                reply.choices[0].logprobs.token_logprobs[0] is None, reply.choices[0].logprobs)
    parts = list(client.completions.create(model='letters', prompt='w', temperature=0, stream=True,
                                           stream_options={'include_usage': True}))
    text = ''.join(choice.text for part in parts for choice in part.choices)
    checks.that('a stream', text == 'xyzé.!?' and parts[-1].usage.completion_tokens == 9, parts[-1])
    two = [client.completions.create(model='noise', prompt='a', seed=7, max_tokens=9).choices[0].text for _ in range(2)]
    checks.that('a seed repeats a text', two[0] == two[1], two)


def chats(client):
    reply = client.chat.completions.create(model='letters', messages=user('vw'), temperature=0, n=2)
    checks.that('two replies', [c.message.content for c in reply.choices] == ['xyzé.!?'] * 2, reply)
    checks.that('they end by a stop', {c.finish_reason for c in reply.choices} == {'stop'}, reply)
    reply = client.chat.completions.create(model='letters', messages=user('x'), temperature=0, logprobs=True,
                                           top_logprobs=3, max_completion_tokens=1)
    token = reply.choices[0].logprobs.content[0]
    checks.that('scores of a chat', token.token == 'y' and len(token.top_logprobs) == 3 and token.bytes == [121], token)
    with client.chat.completions.stream(model='letters', messages=user('vw'), temperature=0) as stream:
        deltas = [event.delta for event in stream if event.type == 'content.delta']
        final = stream.get_final_completion()
    checks.that('a stream of a chat', ''.join(deltas) == 'xyzé.!?' == final.choices[0].message.content, deltas)


def formats(client):
    for seed in range(10):
        reply = client.chat.completions.parse(model='noise', messages=user('who?'), response_format=Person, seed=seed,
                                              max_tokens=300, temperature=1)
        checks.that(f'a class of Pydantic, seed {seed}', isinstance(reply.choices[0].message.parsed, Person), reply)
    reply = client.chat.completions.create(model='noise', messages=user('who?'), response_format={'type': 'json_object'},
                                           seed=2, max_tokens=1000, temperature=0.5)
    text = reply.choices[0].message.content
    checks.that('an object of JSON', reply.choices[0].finish_reason == 'length' or isinstance(json.loads(text), dict), text)


def tools(client):
    for seed in range(10):
        reply = client.chat.completions.create(model='noise', messages=user('?'), tools=TOOLS, tool_choice='required',
                                               parallel_tool_calls=False, seed=seed, max_tokens=300)
        calls = reply.choices[0].message.tool_calls
        good = len(calls) == 1 and reply.choices[0].finish_reason == 'tool_calls'
        checks.that(f'a tool is called, seed {seed}', good, reply)
        arguments = json.loads(calls[0].function.arguments)
        checks.that(f'its arguments, seed {seed}', isinstance(arguments.get('place'), str) if
                    calls[0].function.name == 'weather' else arguments == {}, arguments)
    named = {'type': 'function', 'function': {'name': 'weather'}}
    with client.chat.completions.stream(model='noise', messages=user('?'), tools=TOOLS, tool_choice=named, seed=1,
                                        max_tokens=300) as stream:
        message = stream.get_final_completion().choices[0].message
    checks.that('a stream of a call', [c.function.name for c in message.tool_calls] == ['weather'], message)
    history = user('?') + [message.model_dump(exclude_none=True),
                           {'role': 'tool', 'tool_call_id': message.tool_calls[0].id, 'content': 'rain'}]
    reply = client.chat.completions.create(model='noise', messages=history, tools=TOOLS, max_tokens=2)
    checks.that('a conversation goes on behind a call', reply.usage.completion_tokens > 0, reply)


def embeddings(client):
    # The client asks for base64 and decodes it.
    reply = client.embeddings.create(model='vectors', input=['a', 'bcd'])
    checks.that('embeddings', [len(each.embedding) for each in reply.data] == [2, 2] and
                abs(reply.data[0].embedding[0] - 0.5 ** 0.5) < 1e-6, reply)


def errors(client):
    def error(what, kind, text, **request):
        try:
            client.chat.completions.create(**{'model': 'letters', 'messages': user('a'), **request})
            checks.that(what, False, 'no error')
        except openai.APIStatusError as wrong:
            checks.that(what, isinstance(wrong, kind) and text in str(wrong), wrong)

    error('a wrong temperature', openai.BadRequestError, 'temperature', temperature=3)
    error('no messages', openai.BadRequestError, 'messages', messages=[])
    error('a tool that is not there', openai.BadRequestError, "no tool is called 'x'", tools=TOOLS,
          tool_choice={'type': 'function', 'function': {'name': 'x'}})
    error('a model that does not chat', openai.BadRequestError, '/v1/embeddings', model='vectors')
    error('an unknown model of a chat', openai.NotFoundError, 'letters', model='leters')
    refused = openai.OpenAI(base_url=client.base_url, api_key='wrong', max_retries=0)
    try:
        refused.completions.create(model='letters', prompt='a')
        checks.that('a wrong key is refused', False)
    except (openai.AuthenticationError, openai.PermissionDeniedError) as wrong:
        checks.that('a wrong key is refused', True, wrong)


async def at_once(url, key):
    async with openai.AsyncOpenAI(base_url=url, api_key=key) as client:
        import asyncio
        replies = await asyncio.gather(*(client.completions.create(model='letters', prompt=letter, temperature=0, max_tokens=2)
                                         for letter in 'abcdefghij' * 3))
    texts = [reply.choices[0].text for reply in replies]
    checks.that('30 texts at a time', texts == ['bc', 'cd', 'de', 'ef', 'fg', 'gh', 'hi', 'ij', 'jk', 'kl'] * 3, texts)


def main():
    import asyncio
    with Served(sys.argv[1], text_models.write_all) as served:
        os.environ['OPENAI_BASE_URL'] = served.url + '/v1'
        client = openai.OpenAI(api_key=served.key, max_retries=0)
        for part in (models, completions, chats, formats, tools, embeddings, errors):
            part(client)
        asyncio.run(at_once(served.url + '/v1', served.key))
    return checks.finish()


if __name__ == '__main__':
    sys.exit(main())
