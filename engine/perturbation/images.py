"""Grey images as texts: PNG in base64, read into arrays of pixels and written from them.

PNG is lossless and has one meaning of a shade; the text form is that of XML Schema's `base64Binary`, which
CSVW uses. Files are taken apart here, and the library that decodes is given nothing but the chunks that
hold pixels, of an image of the size that it must have: so no file can make it work long or take much
memory.
"""

import io
import logging
import math
import struct
import warnings
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.errors import not_installed
from smalti.transforms.noise.pixelation import LARGEST_SIDE, WHITE, Images
from smalti.transforms.problem import Integers

Pixel = TypeVar("Pixel", np.uint8, np.int32, np.int64)
Steps: TypeAlias = NDArray[np.int8]
"""By row but the first: 1 where its value is above that of the row before, -1 where below, else 0."""

GREY: Final = (WHITE + 1) // 2
"""The shade of what is no image: the middle."""
LARGEST_IMAGE: Final = 1 << 20
"""Pixels of an image."""
LARGEST_ROW: Final = 1 << 22
"""Cells of all images in one row of an output. As a record it must be read again: it has at most 8 MiB."""
_LARGEST_FILES: Final = LARGEST_ROW + LARGEST_ROW // 4
"""Bytes of all images in one row, which base64 makes longer by a third."""
_FRAME: Final = 256
"""Bytes of a published file beside its lines, at most but for one in a thousand."""
_LARGEST_FILE: Final = 1 << 26
_MOST_CHUNKS: Final = 1 << 12
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEADER, _DATA, _END, _TRANSPARENCY = b"IHDR", b"IDAT", b"IEND", b"tRNS"
_LOGGERS: Final = ("PIL", "PIL.Image", "PIL.ImageFile", "PIL.PngImagePlugin")


class _Contents(NamedTuple):
    """What of a PNG file is read."""

    header: bytes
    data: bytes
    """Compressed lines of pixels."""
    is_bare: bool
    """Whether nothing else is in the file."""


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
        what = "the library that reads and writes images"
        raise not_installed("images", what, "pillow", "images") from None
    return Image


@contextmanager
def _quiet() -> Iterator[None]:
    """Let the library tell nothing: it logs the sizes of chunks, by which images can be told apart."""

    # Another function each time: whoever else is in here, in another thread, keeps its own.
    def nothing(_: logging.LogRecord) -> bool:
        return False

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(nothing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger in loggers:
            logger.removeFilter(nothing)


def decoded(texts: Iterable[str | None], height: int, width: int) -> Images:
    """One image for each text; grey where it is no grey image of 8 bits and of that size.

    So no text raises an error, and none can be seen to be an exception.
    """
    with _quiet():
        images = [_decoded(text, height, width) for text in texts]
    pixels = np.full((len(images), height, width), GREY, np.uint8)
    for place, image in enumerate(images):
        if image is not None:
            pixels[place] = image
    return pixels


def steps_of_images(texts: Iterable[str | None], height: int, width: int) -> Steps | None:
    """How published images follow each other in the order of their pixels, with one at a time in memory.

    Returns:
        None where a text is no grey image of 8 bits and of that size, or where its file holds more than
        such an image needs: there, something could hide.
    """
    steps: list[int] = []
    before: bytes | None = None
    with _quiet():
        for text in texts:
            image = _decoded(text, height, width, exactly=True)
            if image is None:
                return None
            pixels = image.tobytes()
            if before is not None:
                steps.append((before < pixels) - (before > pixels))
            before = pixels
    return np.array(steps, np.int8)


def _decoded(text: str | None, height: int, width: int, *, exactly: bool = False) -> Images | None:
    library = _library()
    try:
        contents = _contents(_bytes(text or ""), height, width)
        if exactly and not (contents.is_bare and _is_full(contents.data, height * (width + 1))):
            return None
        with library.open(io.BytesIO(_file(contents)), formats=["PNG"]) as image:
            pixels = np.asarray(image, np.uint8)
    except Exception:  # of its many kinds none may show what a row holds
        return None
    return pixels if pixels.shape == (height, width) else None


def _bytes(text: str) -> bytes:
    """Of base64 in its one canonical form; ValueError where it is something else."""
    data = b64decode(text, validate=True)
    if len(data) > _LARGEST_FILE or b64encode(data).decode() != text:
        raise ValueError
    return data


def _contents(file: bytes, height: int, width: int) -> _Contents:
    """What is read of a PNG file with a grey image of 8 bits and of that size; ValueError if it is none."""
    (first, header), *others = _chunks(file)
    bare, interlaced = (struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, way) for way in (0, 1))
    kinds = {kind for kind, _ in others}
    if first != _HEADER or header not in (bare, interlaced) or not all(map(_is_expected, kinds)):
        raise ValueError
    data = b"".join(content for kind, content in others if kind == _DATA)
    if others[-1][1] or len(data) > 2 * height * width + (1 << 16):
        raise ValueError
    return _Contents(header, data, header == bare and kinds == {_DATA, _END})


def _is_expected(kind: bytes) -> bool:
    """Whether a chunk is read, or changes no pixel where it is passed over."""
    return kind in (_DATA, _END) or (kind.isalpha() and kind[:1].islower() and kind != _TRANSPARENCY)


def _chunks(file: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each chunk to the last one; ValueError where it is no PNG file."""
    if not file.startswith(_SIGNATURE):
        raise ValueError
    place = len(_SIGNATURE)
    for _ in range(_MOST_CHUNKS):
        end = place + 12 + int.from_bytes(file[place : place + 4])
        if end > len(file):
            raise ValueError
        kind, content = file[place + 4 : place + 8], file[place + 8 : end - 4]
        if zlib.crc32(content, zlib.crc32(kind)) != int.from_bytes(file[end - 4 : end]):
            raise ValueError
        yield kind, content
        place = end
        if kind == _END:
            break
    if place < len(file) or kind != _END:
        raise ValueError


def _is_full(data: bytes, size: int) -> bool:
    """Whether data unpacks to so many bytes, and nothing comes behind them."""
    unpacking = zlib.decompressobj()
    unpacked = unpacking.decompress(data, size + 1)
    return len(unpacked) == size and unpacking.eof and not unpacking.unused_data


def _file(contents: _Contents) -> bytes:
    chunks = ((_HEADER, contents.header), (_DATA, contents.data), (_END, b""))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))
        for kind, content in chunks
    )


def different(images: NDArray[Pixel]) -> tuple[NDArray[Pixel], Integers]:
    """Each different image once, in the order of their pixels, and by image which of them it is.

    Args:
        images: shades, or sums of them: no number is below 0.
    """
    flat = images.reshape(len(images), math.prod(images.shape[1:]))
    # The bytes of such numbers have their order where the highest byte comes first. numpy's own order of
    # rows takes some hundred bytes for each pixel of a row.
    ordered = np.ascontiguousarray(flat, flat.dtype.newbyteorder(">"))
    keys = ordered.view(np.dtype((np.void, ordered.itemsize * flat.shape[1]))).reshape(-1)
    unique, numbers = np.unique(keys, return_inverse=True)
    again = unique.view(ordered.dtype).astype(images.dtype, copy=False)
    return again.reshape(-1, *images.shape[1:]), numbers.reshape(-1).astype(np.int64)


def encoded(images: Images) -> pa.Array:
    """A text for each image."""
    library = _library()
    texts = []
    with _quiet():
        for image in images:
            file = io.BytesIO()
            library.fromarray(image).save(file, format="PNG")
            texts.append(b64encode(file.getvalue()).decode())
    return pa.array(texts, pa.large_string())


def fits(height: int, width: int) -> bool:
    """Whether images of that size are read."""
    return max(height, width) <= LARGEST_SIDE and height * width <= LARGEST_IMAGE


def together_fit(cells: Iterable[int]) -> bool:
    """Whether images of so many cells each can stand in one row of an output.

    Narrow images, of which each line takes a byte more, and many small ones reach the length of a record
    with less than `LARGEST_ROW` cells.
    """
    each = list(cells)
    files = sum(number + min(number, LARGEST_SIDE) + _FRAME for number in each)
    return sum(each) <= LARGEST_ROW and files <= _LARGEST_FILES
