"""Forms as browsers send them: read within limits; a file goes into the private folder as it arrives."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from smalti.service import bodies
from smalti.service.problems import RefusedError
from smalti.service.received import Upload
from smalti.service.uploads import Uploads
from smalti.service.web.page import Form

FILE: Final = "file"
"""The name of the one field with a file; it stands behind all others."""
_URLENCODED: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = b"multipart/form-data"
_MOST_FIELDS: Final = 1000
_LARGEST_FIELD: Final = 1 << 16
"""Bytes of a field beside a file."""
_AROUND: Final = 1 << 20
"""Bytes that a form may have beside its file."""
_DRAINED: Final = 32 << 20
"""Bytes that are still read of a form that was refused: a browser that cannot send shows no answer."""


async def read_form(request: Request) -> Form:
    """The fields of a form without a file.

    Raises:
        RefusedError: it is no form, or too large, too slow, or of too many fields.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    content = await bodies.whole_body(request)
    if content and media_type != _URLENCODED:
        raise RefusedError(415, "not-acceptable-type", f"send {_URLENCODED}")
    try:
        pairs = parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise _unreadable() from None
    return _form(pairs)


async def receive_form(
    request: Request, uploads: Uploads, admit: Callable[[Form], None]
) -> tuple[Form, Upload]:
    """The fields of a form, and its file as it was received.

    Args:
        request: whose body is the form.
        uploads: where the file goes.
        admit: called in a thread with the fields before the file, and the file's name; raises what refuses
            it, before a byte of it is kept.

    Raises:
        RefusedError: as `read_form`; there is no file, or it is too large.
    """
    media_type, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary", b"")
    if media_type != _MULTIPART or not boundary:
        raise RefusedError(415, "not-acceptable-type", "send multipart/form-data")
    bodies.announced(request, uploads.limit + _AROUND)
    chunks = bodies.chunks(request, uploads.limit + _AROUND)
    parts = _Parts(boundary)
    try:
        async for chunk in chunks:
            parts.write(chunk)
            if parts.file_name is not None:
                break
        if not parts.file_name:
            raise RefusedError(422, "invalid", "choose a file", {"problems": [_NO_FILE]})
        await run_in_threadpool(admit, parts.form())
        upload = await uploads.receive(parts.file_chunks(chunks, uploads.limit), None, "")
        return parts.form(), upload
    except Exception:
        await _drain(chunks)
        raise


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    drained = 0
    try:
        async for chunk in chunks:
            drained += len(chunk)
            if drained > _DRAINED:
                return
    except RefusedError:
        return


_NO_FILE: Final = {
    "code": "missing", "where": FILE, "problem": "no file was chosen", "expected": "",
    "wayOut": "choose one",
}  # fmt: skip


@dataclass(slots=True)
class _Parts:
    """The parts of a multipart body, as they arrive."""

    boundary: bytes
    file_name: str | None = None
    """None: no file has begun; empty: a file was not chosen."""
    _parser: MultipartParser = field(init=False)
    _pairs: list[tuple[str, str]] = field(default_factory=list)
    _name: str = ""
    _is_file: bool = False
    _header: bytearray = field(default_factory=bytearray)
    _value: bytearray = field(default_factory=bytearray)
    _content: bytearray = field(default_factory=bytearray)
    _ended: bool = False

    def __post_init__(self) -> None:
        self._parser = MultipartParser(
            self.boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_part_data": self._data,
                "on_part_end": self._end,
                "on_end": self._finish,
            },
        )

    def write(self, chunk: bytes) -> None:
        """Read a chunk of the body.

        Raises:
            RefusedError: it is no form, or a field is too large, or there are too many.
        """
        try:
            self._parser.write(chunk)
        except (FormParserError, UnicodeDecodeError):
            raise _unreadable() from None
        if len(self._pairs) > _MOST_FIELDS or (not self._is_file and len(self._content) > _LARGEST_FIELD):
            raise bodies.too_large(_LARGEST_FIELD)

    async def file_chunks(self, chunks: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
        """The file's content.

        Raises:
            RefusedError: it is larger than the limit, or the form ends early.
        """
        size = 0
        while True:
            if content := self._taken():
                size += len(content)
                if size > limit:
                    raise bodies.too_large(limit)
                yield content
            chunk = await anext(chunks, None)
            if chunk is None:
                break
            self.write(chunk)
        if not self._ended:
            raise RefusedError(400, "bad-request", "the body ended early")

    def form(self) -> Form:
        """The fields so far, and the name of the file."""
        return _form([*self._pairs, (FILE, self.file_name or "")])

    def _taken(self) -> bytes:
        if not self._is_file:
            return b""
        content = bytes(self._content)
        self._content.clear()
        return content

    def _begin(self) -> None:
        if self.file_name:
            raise _unreadable()  # nothing stands behind the file
        self._name, self._is_file = "", False
        self._content.clear()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if bytes(self._header).lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self._value))
            self._name = options.get(b"name", b"").decode()
            if b"filename" in options:
                self._is_file = True
                self.file_name = options[b"filename"].decode()
        self._header.clear()
        self._value.clear()

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._content += data[start:end]

    def _end(self) -> None:
        if not self._is_file:
            self._pairs.append((self._name, self._content.decode()))
            self._content.clear()

    def _finish(self) -> None:
        self._ended = True


def _form(pairs: list[tuple[str, str]]) -> Form:
    fields: dict[str, tuple[str, ...]] = {}
    for name, text in pairs:
        fields[name] = (*fields.get(name, ()), text)
    return Form(fields)


def _unreadable() -> RefusedError:
    return RefusedError(400, "bad-request", "the form cannot be read")
