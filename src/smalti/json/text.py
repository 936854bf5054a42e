"""The layout and the keys of all JSON forms."""

import json
import re
from typing import Any, Final

Json = dict[str, Any]
_UNDERSCORE: Final = re.compile(r"_([a-z])")


def as_json(document: Json | list[Json]) -> str:
    """Indented JSON with a final line end."""
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


def camel_case(value: Any) -> Any:
    """The same value with keys in camel case: `media_type` becomes `mediaType`."""
    if isinstance(value, dict):
        return {_UNDERSCORE.sub(_upper, key): camel_case(item) for key, item in value.items()}
    return [camel_case(item) for item in value] if isinstance(value, list | tuple) else value


def _upper(match: re.Match[str]) -> str:
    return match[1].upper()
