#!/usr/bin/env python3
"""Does as a server's /openapi.json says: posts each example, and compares request and reply with their schemas.

usage: openapi_check.py URL

Schemas are checked with the package jsonschema where it is installed. Exit: 0 all is well, 1 not.
"""
import json
import sys
import urllib.request

try:
    import jsonschema
except ImportError:
    jsonschema = None


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data=data)) as reply:
        return json.load(reply)


def check_references(document, node):
    """Each $ref names a part of the document."""
    if isinstance(node, dict):
        if "$ref" in node:
            part = document
            for name in node["$ref"].removeprefix("#/").split("/"):
                part = part[name]
        for child in node.values():
            check_references(document, child)
    elif isinstance(node, list):
        for child in node:
            check_references(document, child)


def main():
    url = sys.argv[1].rstrip("/")
    document = ask(f"{url}/openapi.json")
    assert document["openapi"].startswith("3.0."), document["openapi"]
    check_references(document, document)
    posted = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert method in ("get", "post"), method
            assert operation["responses"] and operation["summary"], path
            for response in operation["responses"].values():
                assert "$ref" in response or response["description"], path
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "example" not in content:
                continue
            reply = ask(url + path, content["example"])
            posted += 1
            if jsonschema:
                jsonschema.validate(content["example"], content["schema"])
                jsonschema.validate(reply, operation["responses"]["200"]["content"]["application/json"]["schema"])
    assert posted > 0, "there is no example"
    print(f"{posted} examples work")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as error:
        print(f"openapi.json: {error}")
        sys.exit(1)
