"""What the asker may ask for."""

from typing import Final

from smalti.permitting import permissions_for
from smalti.service.operations import Answer, AnyOperation, Call, Operation, answered, having, listing
from smalti.service.pages import Paged, page
from smalti.service.parties import PARTIES

_PERMISSION: Final = having(
    "policy", "rule", "action", "targets", "says", "purposes", "order", "parameters", "query", "output"
)


def list_permissions(call: Call[Paged, None]) -> Answer:
    """The permissions that name the asker."""
    listed = permissions_for(call.asker.party, call.service.registry)
    numbered = [(f"{number:012d}", permission) for number, permission in enumerate(listed)]
    return answered(page(numbered, call.query, lambda entry: entry[0], lambda entry: entry[1]))


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="GET", path="/v1/permissions", name="listPermissions", tag="decisions",
        summary="List the permissions in force that name the asker, in words and with their parameters.",
        roles=PARTIES, handler=list_permissions, query=Paged, body=type(None), gives=listing(_PERMISSION),
    ),
)  # fmt: skip
