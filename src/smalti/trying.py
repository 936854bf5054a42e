"""The request of a try, where the caller leaves parts of it to the policy."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from smalti.deciding import AnyPath, using
from smalti.engine.binding.candidate_permissions import candidate_permissions
from smalti.engine.registry.registry import Registry, without_log
from smalti.engine.run.trial import VARIABLE, Varied
from smalti.errors import UsageError
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI

_VARIED: Final = re.compile(r"(?P<word>[A-Za-z]+)=(?P<numbers>[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*)")
_MOST_VARIED: Final = 20
NOBODY: Final = IRI("urn:smalti:try")
"""Asks where neither the caller nor the policy names a party."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who tries a policy out, for whom and for what."""

    party: IRI
    purpose: IRI | None
    owner: IRI | None
    """Who submits the policy and binds the data; None: the party."""


def asked_by_default(policy: Policy, target: IRI, rule: IRI | None) -> Asked:
    """What the policy's permission for a target says: for its assignee and purpose, by its assigner.

    Of several assignees and purposes the first one. That the assigner tries is only the default where no
    registry knows the target.
    """
    candidates = [
        candidate.permission
        for candidate in candidate_permissions(policy, target)
        if rule is None or rule in candidate.names
    ]
    if not candidates:
        return Asked(NOBODY, None, None)
    permission = candidates[0]
    owner = permission.assigners[0].iri if permission.assigners else None
    party = permission.assignees[0].iri if permission.assignees else owner or NOBODY
    return Asked(party, min(permission.purposes or (), default=None), owner)


def read_varied(texts: Sequence[str]) -> tuple[Varied, ...]:
    """The numbers of `k=2,5,10`, in their order.

    Raises:
        UsageError: it is written otherwise, or asks for too many.
    """
    varied = []
    for text in texts:
        match = _VARIED.fullmatch(text)
        if match is None or match["word"] not in VARIABLE:
            raise UsageError(
                "vary (--vary)", f"`{text}` is no list of numbers to try", "such as k=2,5,10, or l=2,3"
            )
        varied += [Varied(match["word"], int(number)) for number in match["numbers"].split(",")]
    varied = list(dict.fromkeys(varied))
    if len(varied) > _MOST_VARIED:
        raise UsageError(
            "vary (--vary)", f"{len(varied)} numbers are to be tried", f"at most {_MOST_VARIED}"
        )
    return tuple(varied)


@contextmanager
def only_read(registry: Registry | AnyPath | None) -> Iterator[Registry]:
    """A registry for a try, which logs nothing; an empty one where there is none, gone at the end."""
    if registry is not None:
        with using(registry) as opened:
            if opened.exists:
                yield without_log(opened)
                return
    with TemporaryDirectory(prefix="smalti-try-") as folder:
        place = Path(folder) / "nothing-known.sqlite"
        with using(Registry.open(place, log_decisions=False)) as empty:
            yield empty
