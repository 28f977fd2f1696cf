#!/usr/bin/env python3
"""Reads what training/log writes, by nothing but Python's library: `events FILE` prints the events as JSON after checking
every checksum, `svg FILE` the tags and attributes of a picture after checking that it is XML."""
import json
import math
import struct
import sys
import xml.etree.ElementTree


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            if kind == 2:
                size, at = varint(data, at)
            else:
                size = {1: 8, 5: 4}[kind]
            value, at = data[at:at + size], at + size
            assert len(value) == size
        yield number, value


def histogram(data):
    names = {1: "min", 2: "max", 3: "num", 4: "sum", 5: "sum_squares", 6: "bucket_limit", 7: "bucket"}
    result = {}
    for number, value in fields(data):
        numbers = struct.unpack("<%dd" % (len(value) // 8), value)
        result[names[number]] = numbers if number >= 6 else numbers[0]
    return result


def event(data):
    result = {"step": 0}
    for number, value in fields(data):
        if number == 1:
            result["wall_time"] = struct.unpack("<d", value)[0]
        elif number == 2:
            result["step"] = value
        elif number == 3:
            result["file_version"] = value.decode()
        elif number == 5:
            for _, entry in fields(value):
                for inner, content in fields(entry):
                    if inner == 1:
                        result["tag"] = content.decode()
                    elif inner == 2:
                        (result["value"],) = struct.unpack("<f", content)
                        if not math.isfinite(result["value"]):
                            result["value"] = str(result["value"])
                    elif inner == 5:
                        result["histogram"] = histogram(content)
    return result


def events(path):
    with open(path, "rb") as file:
        data = file.read()
    at, found = 0, []
    while at < len(data):
        (length,) = struct.unpack("<Q", data[at:at + 8])
        assert struct.unpack("<I", data[at + 8:at + 12])[0] == masked(data[at:at + 8]), "checksum of the length"
        record = data[at + 12:at + 12 + length]
        assert struct.unpack("<I", data[at + 12 + length:at + 16 + length])[0] == masked(record), "checksum of the event"
        found.append(event(record))
        at += 16 + length
    return found


def svg(path):
    tree = xml.etree.ElementTree.parse(path).getroot()
    assert tree.tag == "{http://www.w3.org/2000/svg}svg", tree.tag
    return [[node.tag.split("}")[1], dict(node.attrib), node.text] for node in tree.iter()]


print(json.dumps({"events": events, "svg": svg}[sys.argv[1]](sys.argv[2])))
