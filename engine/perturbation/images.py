"""Grey images as texts: PNG in base64, read into arrays of pixels and written from them.

PNG is lossless and has one meaning of a shade; the text form is that of XML Schema's `base64Binary`, which
CSVW uses. The library that decodes takes nothing but PNG here, and no image of another size than it must
have, so no file can make it work long or take much memory.
"""

import binascii
import io
import math
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterable
from types import ModuleType
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.errors import BackendError
from smalti.transforms.pixelation import LARGEST_SIDE, WHITE, Images
from smalti.transforms.problem import Integers

Pixel = TypeVar("Pixel", np.uint8, np.int64)

GREY: Final = (WHITE + 1) // 2
"""The shade of what is no image: the middle."""
LARGEST_IMAGE: Final = 1 << 24
"""Pixels of an image."""
_LARGEST_FILE: Final = 1 << 26
_GREY_MODE: Final = "L"


def check_images_available() -> None:
    """Refuse to go on where the library that reads images is missing.

    Raises:
        BackendError: it is not installed.
    """
    _library()


def _library() -> ModuleType:
    try:
        from PIL import Image  # noqa: PLC0415 (an extra)
    except ImportError:
        raise BackendError(
            "images",
            "the library that reads and writes images is not installed",
            "the package pillow",
            'install the extra `images`: pip install "smalti[images]"',
        ) from None
    return Image


def decoded(texts: Iterable[str | None], height: int, width: int) -> Images:
    """One image for each text; grey where it is no grey image of 8 bits and of that size.

    So no text raises an error, and none can be seen to be an exception.
    """
    images = [_decoded(text, height, width) for text in texts]
    found = np.full((len(images), height, width), GREY, np.uint8)
    for place, image in enumerate(images):
        if image is not None:
            found[place] = image
    return found


def decoded_exactly(texts: Iterable[str | None], height: int, width: int) -> Images | None:
    """One image for each text; None where one is no grey image of 8 bits and of that size."""
    images = [_decoded(text, height, width) for text in texts]
    known = [image for image in images if image is not None]
    if len(known) < len(images):
        return None
    return np.stack(known) if known else np.zeros((0, height, width), np.uint8)


def _decoded(text: str | None, height: int, width: int) -> Images | None:
    library = _library()
    try:
        data = b64decode(text or "", validate=True)
    except (binascii.Error, ValueError):
        return None
    if not data or len(data) > _LARGEST_FILE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with library.open(io.BytesIO(data), formats=["PNG"]) as image:
                if (
                    image.size != (width, height)
                    or image.mode != _GREY_MODE
                    or "transparency" in image.info
                ):
                    return None
                pixels = np.asarray(image, np.uint8)
    except Exception:  # of its many kinds none may show what a row holds
        return None
    return pixels if pixels.shape == (height, width) else None


def different(images: NDArray[Pixel]) -> tuple[NDArray[Pixel], Integers]:
    """Each different image once, in the order of their pixels, and by image which of them it is."""
    flat = images.reshape(len(images), math.prod(images.shape[1:]))
    found, numbers = np.unique(flat, axis=0, return_inverse=True)
    return found.reshape(-1, *images.shape[1:]), numbers.reshape(-1).astype(np.int64)


def encoded(images: Images) -> pa.Array:
    """A text for each image."""
    library = _library()
    texts = []
    for image in images:
        file = io.BytesIO()
        library.fromarray(image).save(file, format="PNG")
        texts.append(b64encode(file.getvalue()).decode())
    return pa.array(texts, pa.large_string())


def fits(height: int, width: int) -> bool:
    """Whether images of that size are read."""
    return max(height, width) <= LARGEST_SIDE and height * width <= LARGEST_IMAGE
