"""What a call or a command binds in a template: its target, its parties, the base of its names."""

from collections.abc import Iterable, Mapping

from smalti.errors import UsageError
from smalti.policy.decide.names import iri
from smalti.policy.model.binding import BINDABLE, UNBOUND, Binding
from smalti.vocab.terms import IRI

WHERE = "binding (--bind)"
_ENDS = ("/", "#", ":")
_EXPECTED = "target=IRI, assigner=IRI, assignee=IRI or base=IRI"


def binding_of(bound: Mapping[str, str]) -> Binding:
    """A binding from IRIs by part.

    Raises:
        UsageError: a part cannot be bound, or an IRI is not one.
    """
    unknown = sorted(set(bound) - {*BINDABLE})
    if unknown:
        raise UsageError(WHERE, f"`{unknown[0]}` cannot be bound", _EXPECTED)
    for written in bound.values():
        _check_kept(written)
    parts = {part: iri(written, WHERE) for part, written in bound.items() if part != "base"}
    return Binding(**parts, base=_base(bound.get("base")))


def _base(written: str | None) -> IRI | None:
    if written is None:
        return None
    iri(f"{written}x", WHERE)  # a namespace is none of the IRIs in it
    if not written.endswith(_ENDS):
        problem = "the base would run into the names that it stands before"
        way_out = "end it as the prefix of a context ends: `base=http://example.com/`"
        raise UsageError(WHERE, problem, "an IRI that ends with `/`, `#` or `:`", way_out)
    return IRI(written)


def _check_kept(written: str) -> None:
    if written.casefold().startswith(UNBOUND):
        problem = f"IRIs that begin with `{UNBOUND}` stand for what is not bound"
        raise UsageError(WHERE, problem, "the IRI that is meant", "leave out what stays open")


def pairs(written: Iterable[str]) -> dict[str, str]:
    """IRIs by part, from texts `PART=IRI`, several of which one text may hold, with blanks between them.

    Raises:
        UsageError: a text has another form, or names a part twice.
    """
    bound: dict[str, str] = {}
    for pair in (pair for text in written for pair in text.split()):
        part, separator, value = pair.partition("=")
        if not separator or not value:
            raise UsageError(WHERE, f"`{pair}` has no part or no IRI", _EXPECTED)
        if bound.setdefault(part, value) != value:
            raise UsageError(WHERE, f"`{part}` is bound twice", _EXPECTED)
    return bound
