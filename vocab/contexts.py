"""The shipped JSON-LD contexts, and the addresses that mean them. Nothing is ever fetched."""

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent

ODRL_CONTEXT: Final = _HERE / "odrl.jsonld"
MOSAICROWN_CONTEXT: Final = _HERE / "mosaicrown.jsonld"
SMALTI_CONTEXT: Final = _HERE / "smalti.jsonld"

ORDER: Final = (ODRL_CONTEXT, MOSAICROWN_CONTEXT, SMALTI_CONTEXT)
"""The order in which a document must list them: a later context redefines terms of an earlier one."""

ADDRESSES: Final[dict[str, Path]] = {
    "http://www.w3.org/ns/odrl.jsonld": ODRL_CONTEXT,
    "https://www.w3.org/ns/odrl.jsonld": ODRL_CONTEXT,
    "https://www.mosaicrown.eu/ns/mosaicrown.jsonld": MOSAICROWN_CONTEXT,
    "http://www.mosaicrown.eu/ns/mosaicrown.jsonld": MOSAICROWN_CONTEXT,
    "http://localhost:8000/ns/mosaicrown/namespace.jsonld": MOSAICROWN_CONTEXT,
    "https://localhost:8000/ns/mosaicrown/namespace.jsonld": MOSAICROWN_CONTEXT,
    "https://w3id.org/smalti/context.jsonld": SMALTI_CONTEXT,
    "http://w3id.org/smalti/context.jsonld": SMALTI_CONTEXT,
}

PREFERRED: Final[dict[Path, str]] = {
    ODRL_CONTEXT: "http://www.w3.org/ns/odrl.jsonld",
    MOSAICROWN_CONTEXT: "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
    SMALTI_CONTEXT: "https://w3id.org/smalti/context.jsonld",
}
"""The address to write in a new document."""
