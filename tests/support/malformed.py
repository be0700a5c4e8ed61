"""How the decoders of exports say what is wrong with a file."""


class Malformed(Exception):
    pass


def require(condition, message):
    if not condition:
        raise Malformed(message)
