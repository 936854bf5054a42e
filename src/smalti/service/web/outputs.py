"""What was made: from whose data, for whom, by which policy; files are decided anew with each download."""

from collections.abc import Iterator
from typing import Final

from smalti.json.text import Json
from smalti.service.parties import PARTIES, READERS
from smalti.service.web.page import Card, Entry, Page, Response, Shown, Visit, attached


def show_all(visit: Visit) -> Response:
    """The versions that the visitor may see; the latest first. Of a target also those that it may read."""
    target, purpose = visit.query.get("target") or None, visit.query.get("purpose") or None
    versions = visit.asking.items("listVersions", target=target, purpose=purpose)
    versions.sort(key=lambda version: str(version["created"]), reverse=True)
    return Shown("outputs/all.html", {"versions": versions, "target": target, "purpose": purpose})


def show(visit: Visit) -> Response:
    """One version."""
    wanted = _wanted(visit)
    version = visit.asking.read("readVersion", path=visit.path, query=wanted)
    certificate = visit.asking.read("readCertificate", path=visit.path, query=wanted)
    return Shown("outputs/one.html", {"version": version, "certificate": certificate, **wanted})


def download_certificate(visit: Visit) -> Response:
    """The public certificate of a version, as it was issued."""
    return attached(
        visit.asking.ask("readCertificate", path=visit.path, query=_wanted(visit)), "certificate.jsonld"
    )


def download(visit: Visit) -> Response:
    """A file, if that is permitted now."""
    return visit.asking.ask("download", path=visit.path, query=_wanted(visit))


def _wanted(visit: Visit) -> Json:
    """What the visitor wants it for, where it says so."""
    return {"purpose": visit.query.get("purpose") or None}


def cards(visit: Visit) -> Iterator[Card]:
    """How much was made."""
    if not visit.asking.may("listVersions"):
        return
    count = len(visit.asking.items("listVersions"))
    text = f"{count} output{'' if count == 1 else 's'}" if count else "Nothing yet."
    yield Card("What was made", text, "Open", "outputs")


ENTRIES: Final = (Entry("1As owner", "What was made", "outputs", READERS, watched="What was made"),)
PAGES: Final = (
    Page(method="GET", path="outputs", name="showOutputs", roles=READERS, handler=show_all),
    Page(method="GET", path="outputs/{run}", name="showOutput", roles=READERS, handler=show),
    Page(method="GET", path="outputs/{run}/certificate", name="downloadCertificate", roles=READERS,
         handler=download_certificate),
    Page(method="GET", path="outputs/{run}/files/{name:path}", name="downloadFile", roles=PARTIES,
         handler=download),
)  # fmt: skip
