"""The shipped JSON-LD contexts, and the addresses that mean them. Nothing is ever fetched.

Those of data spaces are written after the public specifications, term by term: the Dataspace Protocol
2025-1 and its ODRL profile, the management API of Eclipse EDC (v0.0.1, and of v2 the envelopes of
policies), and Catena-X's ODRL profile 2025-9 in the variant without `@protected`, with
`WarrantyDurationMonths`, as published in September 2025.
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
CATENAX_CONTEXT: Final = _HERE / "catenax-policy.jsonld"

ORDER: Final = (ODRL_CONTEXT, MOSAICROWN_CONTEXT, SMALTI_CONTEXT)
"""The contexts of a policy that smalti writes, in the order in which a document must list them."""

RANKS: Final[dict[Path, int]] = {
    EDC_CONTEXT: 0,
    EDC_CONTEXT_2: 0,
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

ADDRESSES: Final[dict[str, Path]] = {
    **_SHIPPED_POLICY_ADDRESSES,
    "https://w3id.org/dspace/2025/1/odrl-profile.jsonld": DATASPACE_ODRL_CONTEXT,
    "https://w3id.org/dspace/2025/1/context.jsonld": DATASPACE_CONTEXT,
    "https://w3id.org/edc/connector/management/v0.0.1": EDC_CONTEXT,
    "https://w3id.org/edc/connector/management/v2": EDC_CONTEXT_2,
    "https://w3id.org/catenax/2025/9/policy/odrl.jsonld": DATASPACE_ODRL_CONTEXT,
    "https://w3id.org/catenax/2025/9/policy/context.jsonld": CATENAX_CONTEXT,
}

POLICY_ADDRESSES: Final = tuple(_SHIPPED_POLICY_ADDRESSES)
"""Those of `ORDER`."""

PREFERRED: Final[dict[Path, str]] = {
    ODRL_CONTEXT: "http://www.w3.org/ns/odrl.jsonld",
    MOSAICROWN_CONTEXT: "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
    SMALTI_CONTEXT: "https://w3id.org/smalti/context.jsonld",
}
"""The address to write in a new document."""

FAMILIES: Final[dict[str, str]] = {
    "https://w3id.org/dspace/": "https://w3id.org/dspace/2025/1/context.jsonld",
    "https://w3id.org/edc/": "https://w3id.org/edc/connector/management/v0.0.1",
    "https://w3id.org/tractusx/edc/": "https://w3id.org/edc/connector/management/v0.0.1",
    "https://w3id.org/tractusx/policy/": "https://w3id.org/catenax/2025/9/policy/context.jsonld",
    "https://w3id.org/catenax/": "https://w3id.org/catenax/2025/9/policy/context.jsonld",
}
"""Of families whose versions differ: how their addresses begin, with the address that is shipped."""
