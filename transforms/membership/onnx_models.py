"""Models in ONNX: graphs of operators, executed by onnxruntime, without code of their author.

Refused are files that point to other files (external data, which an attacker may point to any file) and
operators that onnxruntime does not bring. Not promised: that a graph is small or quick to execute.
"""

import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from smalti.errors import DataError, not_installed
from smalti.transforms.membership.confidences import Floats
from smalti.transforms.membership.models import FromCallable

_NUMBERS: Final[Mapping[str, type[np.floating]]] = MappingProxyType(
    {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
)
"""Types of inputs and outputs, as onnxruntime names them."""
_MAPS: Final = ("seq(map(int64,tensor(float)))", "seq(map(string,tensor(float)))")
"""What the operator ZipMap gives: for each record, the confidences by class."""
_FATAL: Final = 4
"""Severity from which onnxruntime prints: its messages may hold names from the file."""

_REPEATED: Final = 3
_INT32: Final = 5
_MESSAGE: Final = 11
_TENSORS: Final[Mapping[str, Mapping[str, tuple[int, str]]]] = MappingProxyType(
    {
        "Model": {"graph": (7, "Graph"), "training": (20, "Training"), "function": (25, "Function")},
        "Training": {"initialization": (1, "Graph"), "algorithm": (2, "Graph")},
        "Function": {"node": (7, "Node"), "attribute": (11, "Attribute")},
        "Graph": {"node": (1, "Node"), "initializer": (5, "Tensor"), "sparse": (15, "Sparse")},
        "Node": {"attribute": (5, "Attribute")},
        "Attribute": {
            "tensor": (5, "Tensor"),
            "graph": (6, "Graph"),
            "tensors": (10, "Tensor"),
            "graphs": (11, "Graph"),
            "sparse": (22, "Sparse"),
            "sparses": (23, "Sparse"),
        },
        "Sparse": {"values": (1, "Tensor"), "indices": (2, "Tensor")},
        "Tensor": {"external": (13, "Entry"), "location": (14, "")},
        "Entry": {},
    }
)
"""The numbers of the fields by which a tensor is reached from a model (onnx.proto of ONNX 1.17).

All are read as repeated ones, which says the same on the wire. A field without a message is a number."""


def onnx_classifier(
    where: str, content: bytes, features: int, classes: tuple[str, ...], gives_logits: bool
) -> FromCallable:
    """A classifier from the bytes of a file.

    Args:
        where: the file, for messages.
        content: of the file.
        features: of a record, that it is to be asked about.
        classes: names of the classes, in the order of their numbers.
        gives_logits: whether its output is no probability yet.

    Raises:
        DataError: this is none, or it does not take and give what is needed. Nothing of the content is in
            the message.
        BackendError: the extra `audit` is not installed.
    """
    session = _session(where, content)
    tensor_in = _input_of(where, session, features)
    tensor_out = _output_of(where, session, len(classes))

    def predict(batch: Floats) -> object:
        try:
            with np.errstate(over="ignore"):
                inputs = {tensor_in.name: batch.astype(_NUMBERS[tensor_in.type])}
            answers = session.run([tensor_out.name], inputs)[0]
        except Exception:
            raise DataError(
                where,
                "the model fails to predict records",
                f"a classifier of {features} features",
            ) from None
        return _from_maps(where, answers, classes) if tensor_out.type in _MAPS else answers

    return FromCallable(predict, len(classes), gives_logits)


def _session(where: str, content: bytes) -> Any:
    try:
        import onnxruntime  # noqa: PLC0415 (an extra)
    except ImportError:
        raise not_installed("models", "the library that executes ONNX", "onnxruntime", "audit") from None
    _refuse_external_data(where, content)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    # Its own format would otherwise be recognised by the content, and is not what was looked at here.
    options.add_session_config_entry("session.load_model_format", "ONNX")
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception:
        raise _unreadable(where) from None


def _unreadable(where: str) -> DataError:
    return DataError(
        where,
        "not an ONNX model that can be executed here",
        "one graph of operators that onnxruntime provides",
        "export the model again, with standard operators",
    )


def _refuse_external_data(where: str, content: bytes) -> None:
    model = _message()()
    try:
        model.ParseFromString(content)
    except Exception:
        raise _unreadable(where) from None
    if _is_external(model):
        raise DataError(
            where,
            "its numbers are in other files",
            "one file that contains everything: a name could point to any file on this machine",
            "export the model again, without external data",
        )


def _is_external(message: Any) -> bool:
    """Whether any tensor in it says that its numbers are elsewhere."""
    for field, values in message.ListFields():
        if field.name == "location":
            is_external = any(values)
        else:
            is_external = field.name == "external" or any(map(_is_external, values))
        if is_external:
            return True
    return False


@cache
def _message() -> Any:
    """The class of messages that are read for external data; onnxruntime brings the library."""
    described = importlib.import_module("google.protobuf.descriptor_pb2")
    file = described.FileDescriptorProto(name="smalti/onnx.proto", package="smalti.onnx", syntax="proto2")
    for name, fields in _TENSORS.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            added = message.field.add(name=field, number=number, label=_REPEATED)
            added.type = _MESSAGE if kind else _INT32
            if kind:
                added.type_name = f".smalti.onnx.{kind}"
    pool = importlib.import_module("google.protobuf.descriptor_pool").DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    factory = importlib.import_module("google.protobuf.message_factory")
    return factory.GetMessageClass(pool.FindMessageTypeByName("smalti.onnx.Model"))


def _input_of(where: str, session: Any, features: int) -> Any:
    """The one input: a table of as many numbers as there are features."""
    inputs = session.get_inputs()
    expected = f"one table of numbers, with {features} features and any number of records"
    if len(inputs) != 1 or inputs[0].type not in _NUMBERS or len(inputs[0].shape) != 2:
        raise DataError(
            where, "the model does not take one table of numbers", expected, "export it with one input"
        )
    records, width = inputs[0].shape
    if isinstance(records, int):
        raise DataError(
            where,
            "the model takes a fixed number of records at once",
            expected,
            "export it with a first axis of any length",
        )
    if isinstance(width, int) and width != features:
        raise DataError(
            where, f"the model takes {width} features", expected, "give the columns that it was trained on"
        )
    return inputs[0]


def _output_of(where: str, session: Any, classes: int) -> Any:
    """The one output that can hold the confidences of all classes."""
    fitting = [output for output in session.get_outputs() if _can_be_confidences(output, classes)]
    likely = [output for output in fitting if "prob" in output.name.lower()]
    candidates = likely if len(likely) == 1 else fitting
    if len(candidates) != 1:
        raise DataError(
            where,
            f"{len(candidates)} of its outputs can be the confidences",
            f"one output of records x {classes} classes",
            "export it with the class probabilities as its only table",
        )
    return candidates[0]


def _can_be_confidences(output: Any, classes: int) -> bool:
    if output.type in _MAPS:
        return True
    is_table = output.type in _NUMBERS and len(output.shape) == 2
    return is_table and (output.shape[1] == classes or not isinstance(output.shape[1], int))


def _from_maps(where: str, answers: Sequence[Mapping[object, float]], classes: tuple[str, ...]) -> Floats:
    """Confidences by class as a table; a class that a map lacks has 0."""
    places = {name: number for number, name in enumerate(classes)}
    table = np.zeros((len(answers), len(classes)))
    for record, answer in enumerate(answers):
        for name, confidence in answer.items():
            if str(name) not in places:
                raise DataError(
                    where, "it gives classes that no record has", f"{len(classes)} classes as in the data"
                )
            table[record, places[str(name)]] = confidence
    return table
