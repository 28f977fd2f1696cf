"""Models of text as exporters leave them, whose replies are known or are any: letters, noise and vectors."""
import json

# Ã and © are the bytes of é, as byte-level vocabularies write them.
LETTERS = [*'abcdefghijklmnopqrstuvwxyz', 'Ã', '©', '.', '!', '?']
HERMES = r'''{# <tool_call>\n{"name": , "arguments": }\n</tool_call> #}'''
TEMPLATE = '{% for m in messages %}{% if m.content %}{{ m.content }}{% endif %}{% endfor %}'


def added(number, text):
    return {'id': number, 'content': text, 'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False,
            'special': True}


def tokenizer(vocabulary, end):
    level = {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': False, 'use_regex': False}
    return {'added_tokens': [added(vocabulary[end], end)], 'pre_tokenizer': level, 'decoder': level,
            'model': {'type': 'BPE', 'vocab': vocabulary, 'merges': []}}


def byte_letters():
    """The 256 bytes as HF's byte-level alphabet writes them."""
    letters, after = [], 256
    for byte in range(256):
        plain = 0x21 <= byte <= 0x7e or (byte >= 0xa1 and byte != 0xad)
        letters.append(chr(byte if plain else after))
        after += not plain
    return letters


def write(folder, graph, vocabulary=None, template=TEMPLATE):
    import onnx.parser
    folder.mkdir()
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / 'model.onnx')
    (folder / 'tokenizer.json').write_text(json.dumps(tokenizer(vocabulary, '<end>')))
    (folder / 'tokenizer_config.json').write_text(json.dumps({'eos_token': '<end>', 'chat_template': template}))
    (folder / 'config.json').write_text(json.dumps({'eos_token_id': vocabulary['<end>']}))


def write_all(folder):
    letters = {'<end>': 0, **{letter: i + 1 for i, letter in enumerate(LETTERS)}}
    size = len(letters)
    # The next letter has the score 4, all else 0; after the last one, the end has.
    write(folder / 'letters', f'''letters (int64[n, t] input_ids) => (float[n, t, {size}] logits) {{
        one = Constant <value_int = 1> ()
        count = Constant <value_int = {size}> ()
        values = Constant <value_floats = [0.0, 4.0]> ()
        more = Add (input_ids, one)
        next = Mod (more, count)
        logits = OneHot (next, count, values)
    }}''', letters)
    pieces = {letter: i for i, letter in enumerate(byte_letters())}
    for piece in ('{"', '":', '",Ġ"', '"}', 'true', 'null', 'Ġthe', '[[', ']}', '<end>'):
        pieces[piece] = len(pieces)
    # Scores that follow no rule: 8 sin(12.9898 (token + 1) (last token + 3)).
    write(folder / 'noise', f'''noise (int64[n, t] input_ids) => (float[n, t, {len(pieces)}] logits) {{
        three = Constant <value_int = 3> ()
        more = Add (input_ids, three)
        last = Constant <value_ints = [-1]> ()
        wide = Unsqueeze (more, last)
        first = Constant <value_int = 1> ()
        behind = Constant <value_int = {len(pieces) + 1}> ()
        tokens = Range (first, behind, first)
        product = Mul (wide, tokens)
        real = Cast <to = 1> (product)
        much = Constant <value_float = 12.9898> ()
        angle = Mul (real, much)
        wave = Sin (angle)
        eight = Constant <value_float = 8.0> ()
        logits = Mul (wave, eight)
    }}''', pieces, TEMPLATE + HERMES)
    # Each token's vector is (token, 1).
    write(folder / 'vectors', '''vectors (int64[n, t] input_ids, int64[n, t] attention_mask) =>
        (float[n, t, 2] last_hidden_state) {
        axes = Constant <value_ints = [2]> ()
        ids = Cast <to = 1> (input_ids)
        mask = Cast <to = 1> (attention_mask)
        a = Unsqueeze (ids, axes)
        b = Unsqueeze (mask, axes)
        last_hidden_state = Concat <axis = 2> (a, b)
    }''', letters)
    return [f'{name}={folder / name}' for name in ('letters', 'noise', 'vectors')]
