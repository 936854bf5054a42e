"""Small models in ONNX, put together byte by byte: the library that writes them is not needed.

The numbers of fields are those of onnx.proto (ONNX 1.17, messages ModelProto, GraphProto, NodeProto,
TensorProto, ValueInfoProto, TypeProto and AttributeProto).
"""

from collections.abc import Iterable

import numpy as np

FLOAT = 1
WEIGHTS = np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 0.5]], np.float32)
"""Of the models here: two features, three classes."""


def varint(number: int) -> bytes:
    """A number of any size, seven bits in each byte, the lowest first."""
    head = b""
    while number > 0x7F:
        head += bytes([number & 0x7F | 0x80])
        number >>= 7
    return head + bytes([number])


def field(number: int, value: bytes | str | int) -> bytes:
    """One field of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name: str, values: np.ndarray, more: bytes = b"") -> bytes:
    dims = b"".join(field(1, size) for size in values.shape)
    return dims + field(2, FLOAT) + field(8, name) + (more or field(9, values.astype("<f4").tobytes()))


def external(location: str) -> bytes:
    """What a tensor says whose numbers are in another file."""
    return field(13, field(1, "location") + field(2, location)) + field(14, 1)


def node(operator: str, inputs: Iterable[str], output: str, more: bytes = b"") -> bytes:
    names = b"".join(field(1, name) for name in inputs)
    return field(1, names + field(2, output) + field(4, operator) + more)


def table(name: str, *shape: int | str) -> bytes:
    """A named input or output of floats; a text is an axis of any length."""
    axes = (field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, b"".join(axes))))


def model(graph: bytes) -> bytes:
    operators = field(8, field(2, 13)) + field(8, field(1, "ai.onnx.ml") + field(2, 1))
    return field(1, 8) + operators + field(7, field(2, "graph") + graph)


def softmax_regression(
    *,
    taken: bytes = field(11, table("x", "n", 2)),
    given: bytes = field(12, table("y", "n", 3)),
    weights: bytes = tensor("w", WEIGHTS),
    last: bytes = node("Softmax", ["z"], "y"),
) -> bytes:
    """A model whose confidences are the softmax of the features times `WEIGHTS`; parts may be others."""
    return model(node("MatMul", ["x", "w"], "z") + last + field(5, weights) + taken + given)
