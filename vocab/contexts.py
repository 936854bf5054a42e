"""The shipped JSON-LD contexts, and the addresses that mean them. Nothing is ever fetched.

Those of data spaces are written after the public specifications, term by term: the Dataspace Protocol
2025-1 and its ODRL profile, the management API of Eclipse EDC (v0.0.1, and of v2 the envelopes of
policies), EDC's words in messages of the protocol (v0.0.1), and Catena-X's ODRL profile 2025-9 in the
variant without `@protected`, with `WarrantyDurationMonths`, as published in September 2025.
"""

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent

ODRL_CONTEXT: Final = _HERE / "odrl.jsonld"
MOSAICROWN_CONTEXT: Final = _HERE / "mosaicrown.jsonld"
SMALTI_CONTEXT: Final = _HERE / "smalti.jsonld"
DATASPACE_ODRL_CONTEXT: Final = _HERE / "dspace-odrl.jsonld"
"""The terms of ODRL that the Dataspace Protocol and Catena-X use."""
DATASPACE_CONTEXT: Final = _HERE / "dspace.jsonld"
EDC_CONTEXT: Final = _HERE / "edc-management.jsonld"
EDC_CONTEXT_2: Final = _HERE / "edc-management-v2.jsonld"
EDC_DATASPACE_CONTEXT: Final = _HERE / "edc-dataspace.jsonld"
"""EDC's own words in messages of the Dataspace Protocol."""
CATENAX_CONTEXT: Final = _HERE / "catenax-policy.jsonld"

ORDER: Final = (ODRL_CONTEXT, MOSAICROWN_CONTEXT, SMALTI_CONTEXT)
"""The contexts of a policy that smalti writes, in the order in which a document must list them."""

RANKS: Final[dict[Path, int]] = {
    EDC_CONTEXT: 0,
    EDC_CONTEXT_2: 0,
    EDC_DATASPACE_CONTEXT: 0,
    DATASPACE_CONTEXT: 0,
    ODRL_CONTEXT: 1,
    DATASPACE_ODRL_CONTEXT: 1,
    CATENAX_CONTEXT: 2,
    MOSAICROWN_CONTEXT: 2,
    SMALTI_CONTEXT: 3,
}
"""A context may redefine terms of those with a lower rank: words of envelopes give way to policies'."""

BASES: Final = frozenset({ODRL_CONTEXT, DATASPACE_ODRL_CONTEXT})
"""The contexts that define the words of ODRL, one of which every policy needs."""

_SHIPPED_POLICY_ADDRESSES: Final[dict[str, Path]] = {
    "http://www.w3.org/ns/odrl.jsonld": ODRL_CONTEXT,
    "https://www.w3.org/ns/odrl.jsonld": ODRL_CONTEXT,
    "https://www.mosaicrown.eu/ns/mosaicrown.jsonld": MOSAICROWN_CONTEXT,
    "http://www.mosaicrown.eu/ns/mosaicrown.jsonld": MOSAICROWN_CONTEXT,
    "http://localhost:8000/ns/mosaicrown/namespace.jsonld": MOSAICROWN_CONTEXT,
    "https://localhost:8000/ns/mosaicrown/namespace.jsonld": MOSAICROWN_CONTEXT,
    "https://w3id.org/smalti/context.jsonld": SMALTI_CONTEXT,
    "http://w3id.org/smalti/context.jsonld": SMALTI_CONTEXT,
}

_CX: Final = "https://w3id.org/catenax/2025/9/policy/"
DATASPACE_ODRL: Final = "https://w3id.org/dspace/2025/1/odrl-profile.jsonld"
CATENAX_ODRL: Final = f"{_CX}odrl.jsonld"
"""The addresses of ODRL's context that documents of data spaces list."""

ADDRESSES: Final[dict[str, Path]] = {
    **_SHIPPED_POLICY_ADDRESSES,
    DATASPACE_ODRL: DATASPACE_ODRL_CONTEXT,
    "https://w3id.org/dspace/2025/1/context.jsonld": DATASPACE_CONTEXT,
    "https://w3id.org/edc/connector/management/v0.0.1": EDC_CONTEXT,
    "https://w3id.org/edc/connector/management/v2": EDC_CONTEXT_2,
    "https://w3id.org/edc/dspace/v0.0.1": EDC_DATASPACE_CONTEXT,
    CATENAX_ODRL: DATASPACE_ODRL_CONTEXT,
    f"{_CX}context.jsonld": CATENAX_CONTEXT,
}

POLICY_ADDRESSES: Final = tuple(_SHIPPED_POLICY_ADDRESSES)
"""Those of `ORDER`."""

PREFERRED: Final[dict[Path, str]] = {
    ODRL_CONTEXT: "http://www.w3.org/ns/odrl.jsonld",
    MOSAICROWN_CONTEXT: "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
    SMALTI_CONTEXT: "https://w3id.org/smalti/context.jsonld",
}
"""The address to write in a new document."""

_INSTEAD_OF_CX: Final = (
    "leave it out, and write its words with a prefix of the document, as in"
    ' {"cx-policy": "https://w3id.org/catenax/policy/"} and `cx-policy:Membership`; or, for the words of'
    f" 2025-9, list `{_CX}odrl.jsonld` and then `{_CX}context.jsonld` in place of it and of ODRL's context"
)
FAMILIES: Final[dict[str, str]] = {
    "https://w3id.org/dspace/": "write the version that is shipped:"
    " `https://w3id.org/dspace/2025/1/context.jsonld`",
    "https://w3id.org/edc/dspace/": "write the version that is shipped: `https://w3id.org/edc/dspace/v0.0.1`",
    "https://w3id.org/edc/connector/management/": "write the version that is shipped:"
    " `https://w3id.org/edc/connector/management/v2`",
    _CX: f"write the version that is shipped: `{_CX}context.jsonld`",
    "https://w3id.org/edc/": 'leave it out, and write {"@vocab": "https://w3id.org/edc/v0.0.1/ns/"}, or the'
    " whole IRIs of its words, as in `https://w3id.org/edc/v0.0.1/ns/inForceDate`",
    "https://w3id.org/catenax/": _INSTEAD_OF_CX,
    "https://w3id.org/tractusx/policy/": _INSTEAD_OF_CX,
    "https://w3id.org/tractusx/": "leave it out, and write the whole IRIs of its words, or a prefix of the"
    ' document, as in {"tx": "https://w3id.org/tractusx/v0.0.1/ns/"} and `tx:BusinessPartnerGroup`',
}
"""Of families of contexts: how their addresses begin, with what to do about one that is not shipped. The
first that fits counts."""
