"""json_schemas.py draw SEED COUNT: random schemas, one a line. json_schemas.py check FILE: whether the texts of its lines
{"schema", "text"} are JSON and instances of their schemas, by the package jsonschema; prints those that are not. Exits with 77
where there is no such package."""
import json, random, sys

KEYS = ["a", "b", "id", "name", "list of things", "ключ", 'quo"te', "back\\slash", "na", "names", ""]
PATTERNS = ["^[a-z]{2,5}$", "x+y", "^(foo|bar)?-\\d+$", "^[^a-f\\s]{3}$", "^\\w+@\\w+\\.com$", "^.{2}$", "[0-9]$", "^\"\\\\$", "^(ab){2,3}c*$", "^[А-я]+$"]


def number(draw, integer):
    schema = {"type": "integer" if integer else "number"}
    low = draw.choice([0, 1, -1, -5, 10, 99, -1000, 12345, 10**6])
    high = low + draw.choice([0, 1, 2, 9, 90, 1000, 10**9])
    if draw.random() < 0.6:
        schema[draw.choice(["minimum", "exclusiveMinimum"])] = low
    if draw.random() < 0.6:
        schema[draw.choice(["maximum", "exclusiveMaximum"])] = high + 2
    if integer and draw.random() < 0.1:
        schema = {"type": "integer", "minimum": low - 0.5, "maximum": high + 0.5}
    return schema


def string(draw):
    schema = {"type": "string"}
    kind = draw.random()
    if kind < 0.3:
        schema["pattern"] = draw.choice(PATTERNS)
    elif kind < 0.4:
        schema["format"] = draw.choice(["date", "date-time", "time", "uuid", "email", "ipv4", "uri"])
    else:
        low = draw.choice([0, 0, 1, 3, 20])
        if draw.random() < 0.5:
            schema["minLength"] = low
        if draw.random() < 0.5:
            schema["maxLength"] = low + draw.choice([0, 1, 5, 300])
    return schema


def values(draw):
    some = [1, -2, 3.5, 1e30, "a", "b\n", 'q"', "é", "天安门", "😀", None, True, False, [], {}, [1, {"a": "b"}], {"k": [None]}]
    if draw.random() < 0.4:
        return {"const": draw.choice(some)}
    return {"enum": draw.sample(some, draw.randint(1, 6))}


def array(draw, depth):
    schema = {"type": "array"}
    low = draw.choice([0, 0, 1, 2])
    if draw.random() < 0.4:
        schema["prefixItems"] = [any_schema(draw, depth - 1) for _ in range(draw.randint(0, 3))]
    schema["items"] = any_schema(draw, depth - 1)
    if draw.random() < 0.5:
        schema["minItems"] = low
    if draw.random() < 0.6:
        schema["maxItems"] = low + draw.choice([0, 1, 3, 50])
    return schema


def an_object(draw, depth):
    if draw.random() < 0.2:
        return {"type": "object", "additionalProperties": any_schema(draw, depth - 1)}
    keys = draw.sample(KEYS, draw.randint(0, 4))
    schema = {"type": "object", "properties": {key: any_schema(draw, depth - 1) for key in keys}}
    schema["required"] = [key for key in keys if draw.random() < 0.5]
    more = draw.random()
    if more < 0.4:
        schema["additionalProperties"] = False
    elif more < 0.6:
        schema["additionalProperties"] = any_schema(draw, depth - 1)
        if draw.random() < 0.3:
            schema["required"].append("surplus")
    return schema


def branches(draw, depth):
    if draw.random() < 0.5:
        return {"anyOf": [any_schema(draw, depth - 1) for _ in range(draw.randint(1, 3))]}
    tagged = []
    for tag in draw.sample(["cat", "dog", "cow", "catfish"], draw.randint(1, 3)):
        tagged.append({"type": "object", "properties": {"kind": {"const": tag}, "v": any_schema(draw, depth - 1)},
                       "required": ["kind"], "additionalProperties": False})
    return {"oneOf": tagged + [{"type": "integer"}]}


def any_schema(draw, depth):
    kind = draw.random()
    if depth <= 0:
        kind *= 0.6
    if kind < 0.14:
        return string(draw)
    if kind < 0.28:
        return number(draw, True)
    if kind < 0.38:
        return number(draw, False)
    if kind < 0.48:
        return values(draw)
    if kind < 0.52:
        return {"type": draw.choice(["boolean", "null"])}
    if kind < 0.56:
        return {"type": draw.sample(["string", "integer", "null", "boolean"], draw.randint(1, 3)), "maxLength": 4, "minimum": 3}
    if kind < 0.58:
        return draw.choice([True, {}, {"description": "anything"}])
    if kind < 0.60:
        return {"$ref": draw.choice(["#", "#/$defs/tree", "#/$defs/a~1b"])}
    if kind < 0.75:
        return array(draw, depth)
    if kind < 0.93:
        return an_object(draw, depth)
    return branches(draw, depth)


def draw_schema(draw):
    root = draw.choice([an_object, an_object, array, branches])(draw, 3)
    root["$defs"] = {"a/b": string(draw), "tree": {"type": "object", "properties": {
        "value": number(draw, True), "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}, "next": {
            "anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}}, "required": ["value", "next"], "additionalProperties": False}}
    return root


def check(path):
    try:
        import jsonschema
    except ImportError:
        sys.exit(77)
    wrong = 0
    for line in open(path, encoding="utf-8"):
        row = json.loads(line)
        try:
            jsonschema.Draft202012Validator(row["schema"]).validate(json.loads(row["text"]))
        except RecursionError:  # a schema that is itself
            continue
        except Exception as error:
            wrong += 1
            print(json.dumps(row)[:2000], "->", str(error).split("\n")[0], flush=True)
    sys.exit(1 if wrong else 0)


def main():
    if sys.argv[1] == "check":
        check(sys.argv[2])
    seed, count = int(sys.argv[2]), int(sys.argv[3])
    for i in range(count):
        print(json.dumps(draw_schema(random.Random(seed * 1000003 + i))))


main()
