"""The first documented name of `TensorFlowTrainer`, which is in `smalti.studies.tensorflow.trainer`.

Studies stand above this room, so what is there is looked up only when somebody asks for it by this name.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What the study has by that name.

    Raises:
        AttributeError: it has nothing of that name.
    """
    return getattr(import_module("smalti.studies.tensorflow.trainer"), name)
