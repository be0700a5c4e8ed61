"""Packs the inputs of an operator as the words of a call: sizes and types as Kineto names them
(include/sonde/backend.h, kinds L and N; native.py's library does the same in C++)."""

import ctypes

_MOST_BYTES = 320  # each: both fit the 96 words of a call
_NAMES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int",
          "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
          "float16": "c10::Half", "bfloat16": "c10::BFloat16",
          "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


def key_of(inputs, tensor):
    """A hashable key of everything that the packed form depends on."""
    return tuple([_key(value, tensor) for value in inputs])


def _key(value, tensor):
    if isinstance(value, tensor):
        return value.dtype, tuple(value.shape)
    if isinstance(value, (bool, int, float, complex)):
        return "Scalar"
    if isinstance(value, (list, tuple)) and value:
        if all(isinstance(item, tensor) for item in value):
            return "TensorList", tuple(tuple(item.shape) for item in value)
        if all(isinstance(item, (bool, int, float)) for item in value):
            return "ScalarList"
    return ""


def _varint(value):
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7f | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _packed(value):
    """The key of a number, or of a list or tuple of numbers."""
    if isinstance(value, (list, tuple)):
        return _varint(len(value) << 1 | 1) + b"".join(_packed(item) for item in value)
    return _varint(int(value) << 1)


class Types:
    def __init__(self, torch, recorder):
        self._recorder = recorder
        self._ids = {"": 0}

    def pack(self, key):
        """The array of words of a key_of()."""
        sizes = [item[1] if isinstance(item, tuple) else () for item in key]
        types = [self._id(item[0] if isinstance(item, tuple) else item) for item in key]
        data = b""
        for values in (sizes, types):
            packed = _packed(values) if values else b""
            if len(packed) > _MOST_BYTES:
                packed = b""
            data += len(packed).to_bytes(8, "little") + packed + bytes(-len(packed) % 8)
        return (ctypes.c_uint64 * (len(data) // 8)).from_buffer_copy(data)

    def _id(self, kind):
        found = self._ids.get(kind)
        if found is None:
            name = str(kind).replace("torch.", "")
            found = self._ids[kind] = self._recorder.intern(_NAMES.get(name, name))
        return found
