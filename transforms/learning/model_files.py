"""Files of trained networks: safetensors, which contains numbers only, and no code.

Pickles are neither read nor written.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final

from pydantic import TypeAdapter, ValidationError

from smalti.errors import DataError, not_installed
from smalti.transforms.learning.models import Description, TrainedModel
from smalti.transforms.learning.networks import Floats, arrays_of, parameters_of

_FORM: Final = "smalti.network.1"
"""The entry of the header that holds the description; a later form of it gets another number."""
_DESCRIPTIONS: Final = TypeAdapter(Description)


def save(model: TrainedModel, path: Path, more: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write a new file with the parameters of a network, and its description in the header.

    Args:
        model: the network.
        path: of the file.
        more: other entries of the header, which `load` leaves alone.

    Raises:
        FileExistsError: there is a file of that name already.
    """
    metadata = {**more, _FORM: _DESCRIPTIONS.dump_json(model.description).decode()}
    write_model(arrays_of(model.parameters), metadata, path)


def write_model(arrays: Mapping[str, Floats], metadata: Mapping[str, str], path: Path) -> None:
    """Write a new file of safetensors.

    Raises:
        FileExistsError: there is a file of that name already.
    """
    content = library().numpy.save(dict(arrays), dict(metadata))
    with path.open("xb") as file:
        file.write(content)


def load(path: Path) -> TrainedModel:
    """Read a file of `save`.

    Raises:
        DataError: it cannot be read, or is none of those; nothing that it holds is in the message.
    """
    safetensors = library()
    try:
        with safetensors.safe_open(path, framework="np") as file:
            description = _DESCRIPTIONS.validate_json((file.metadata() or {})[_FORM])
            arrays: dict[str, Floats] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return TrainedModel(description, parameters_of(description.architecture, arrays))
    except (safetensors.SafetensorError, OSError, KeyError, ValidationError, ValueError, TypeError):
        raise DataError(
            str(path),
            "not a network that smalti can read",
            "a safetensors file written by smalti, with the description and all parameters",
            "train and save the network again; pickle files are never loaded, because they can run code",
        ) from None


def header(path: Path) -> dict[str, str]:
    """All texts in the header of a file of safetensors; none where it cannot be read as one."""
    safetensors = library()
    try:
        with safetensors.safe_open(path, framework="np") as file:
            return dict(file.metadata() or {})
    except (safetensors.SafetensorError, OSError):
        return {}


def library() -> ModuleType:
    """The library of files of networks, or BackendError."""
    try:
        import safetensors.numpy  # noqa: PLC0415 (an extra)
    except ImportError:
        raise not_installed(
            "models", "the library that reads and writes networks", "safetensors", "audit"
        ) from None
    return safetensors
