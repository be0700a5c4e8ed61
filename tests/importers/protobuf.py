"""Writes Protocol Buffers messages, for fixtures. Standard library only.

    message((1, 7), (2, "text"), (3, [(1, 2)]), (4, 0.5), (5, Fixed(9)))

An int becomes a varint, a str or bytes a text, a list a nested message, a float a double."""
import struct


class Fixed(int):
    """Is written as a fixed64."""


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, Fixed):
        return varint(number << 3 | 1) + struct.pack("<Q", value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, (bool, int)):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, list):
        value = message(*value)
    elif isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*fields):
    return b"".join(field(number, value) for number, value in fields)
