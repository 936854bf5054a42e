"""What a page is: a row of the table that routes, navigation and tests are made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from smalti.engine.registry.access import Role
from smalti.service.asking import Asking
from smalti.service.operations import Answer
from smalti.service.problems import RefusedError, refusal_of
from smalti.service.received import Upload
from smalti.service.web.sessions import Sessions

HOME: Final = "/web/"
_WATCHED: Final = "1Policies and outputs"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """What a form has sent: texts by the names of its fields."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """The text of a field without blanks around it; empty where nothing was sent."""
        return self.raw(name).strip()

    def raw(self, name: str) -> str:
        """The text of a field as it was sent, with the line ends that documents have."""
        return next(iter(self.fields.get(name, ())), "").replace("\r\n", "\n")

    def texts(self, name: str) -> tuple[str, ...]:
        """All texts of a field that may be sent several times, without empty ones."""
        return tuple(filter(None, map(str.strip, self.fields.get(name, ()))))


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of a browser."""

    asking: Asking
    """For the party of the session; for nobody on pages that everybody sees."""
    path: Mapping[str, str]
    query: Mapping[str, str]
    """Each name once; the last text counts."""
    form: Form
    sessions: Sessions
    token: str | None = None
    """The session's, where there is one."""
    notice: str = ""
    """The name of one of `NOTICES`, which the form that led here left for once."""
    upload: Upload | None = None
    """The file of a form that has one; removed after the page was answered, if it was not taken over."""

    def tried(self, work: Callable[[], T]) -> T | RefusedError:
        """The result of work, or what refused it; failures of the machine pass.

        Raises:
            Exception: what is no refusal of the request, as `refusal_of` says.
        """
        try:
            return work()
        except Exception as error:
            refusal = refusal_of(error)
            if refusal.status >= 500:
                raise
            return refusal


@dataclass(frozen=True, slots=True)
class Shown:
    """A template, filled."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Moved:
    """Another page, after a form was done (303)."""

    place: str
    """A path of this site, with its query."""
    notice: str = ""
    """The name of one of `NOTICES`, shown there once; no link can have it shown."""
    session: str | None = None
    """The token of a session that begins; empty: it ends."""


@dataclass(frozen=True, slots=True)
class Framed:
    """A page that stands alone, with its styles inside: shown in a frame, without scripts, or by itself."""

    html: str


def attached(answer: Answer, name: str) -> Answer:
    """An answer that a browser keeps as a file of a name.

    Links do not say it by their `download`: then a browser shows nothing of a refusal.
    """
    disposition = f'attachment; filename="{name}"'
    return replace(answer, headers={**answer.headers, "Content-Disposition": disposition})


NOTICES: Final[dict[str, str]] = {
    "signed-out": "You are signed out.",
}
"""What pages say after a form was done; modules add theirs."""

Response = Shown | Moved | Framed | Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, or one form that is sent to it."""

    method: str
    """GET or POST."""
    path: str
    """Of Starlette, below `/web/`."""
    name: str
    """For tests and measurements."""
    roles: frozenset[Role]
    """Whose page it is: anybody of these; empty: everybody's, without a session. It decides what the
    navigation shows; operations decide what is answered."""
    handler: Callable[[Visit], Response]
    """Called in a thread of a pool."""
    admits: Callable[[Visit], None] | None = None
    """Of a form with a file: called before the file is received, with the fields before it, and the name
    of the file as `file`; raises what refuses it."""
    refuses: Callable[[Visit, RefusedError], Response] | None = None
    """Of a form with a file: the page of what refuses it while it is received."""

    @property
    def is_for_anybody(self) -> bool:
        return not self.roles


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the navigation."""

    group: str
    label: str
    path: str
    roles: frozenset[Role]
    also: str = ""
    """The first part of the paths of its other pages, where it is not its own path."""
    watched: str = ""
    """Its label for visitors that are no party: they see what others have, under a title of its own."""

    def seen(self, *, by_party: bool) -> "Entry":
        """The line as a visitor sees it."""
        if by_party or not self.watched:
            return self
        return replace(self, group=_WATCHED, label=self.watched)


@dataclass(frozen=True, slots=True)
class Card:
    """What the first page says of a subject."""

    title: str
    text: str
    """How it stands, or what to do next."""
    action: str
    path: str
    """Below `/web/`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a form that was sent."""

    text: str
    """One sentence, with the way out."""
    field: str = ""
    """The name of the field it stands at; empty: at none."""


def problems_of(refusal: RefusedError, places: Mapping[str, str]) -> tuple[Problem, ...]:
    """What a form shows of a refusal.

    Args:
        refusal: of the operation that the form asked for.
        places: the field of the form for each place that a problem may name (`target`, `/name`).
    """
    listed = refusal.more.get("problems")
    if not listed:
        return (Problem(_sentence(refusal.detail), places.get(refusal.code, "")),)
    return tuple(
        Problem(
            _sentence(problem["problem"], problem["expected"], problem["wayOut"]),
            places.get(problem["where"].strip("/"), ""),
        )
        for problem in listed
    )


def _sentence(problem: str, expected: str = "", way_out: str = "") -> str:
    parts = [problem, f"expected {expected}" if expected else ""]
    sentence = "; ".join(filter(None, parts))
    sentence = f"{sentence[:1].upper()}{sentence[1:]}."
    return f"{sentence} {way_out[:1].upper()}{way_out[1:]}." if way_out else sentence
