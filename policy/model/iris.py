"""IRIs: which ones a policy may use, and their one spelling."""

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from unicodedata import category, normalize
from urllib.parse import quote, unquote

from smalti.vocab.terms import IRI

SCHEMES: Final = frozenset({"http", "https", "urn", "did", "mailto", "tag"})
"""Schemes of IRIs that a policy may use; any other is an undefined prefix, or leads to a file."""
_FORBIDDEN: Final = re.compile(r"[\s<>\"{}|\\^`\x00-\x20\x7f-\x9f\ud800-\udfff]")  # RFC 3987, 2.2
_ADDRESS: Final = re.compile(r"(https?://)([^/?#]*)(.*)", re.DOTALL)
_BEYOND_ASCII: Final = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")
_PUNYCODE: Final = "xn--"
_LONGEST_LABEL: Final = 63  # RFC 1035, 2.3.4; Punycode takes quadratic time
_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}|%")
_ENCODED_ASCII: Final = re.compile(r"(%[0-7][0-9A-F]|%)")
_TO_SPELL: Final = re.compile(r"%[0-9A-Fa-f]{2}|%|[^\x00-\x7f]+")
MOST_IN_STEM: Final = 200
"""Bytes of a `file_stem`: with the number of a part and an ending, file systems take 255."""
_IS_NO_NAME: Final = re.compile(r"[?#]")
_UNRESERVED: Final = re.compile(r"[A-Za-z0-9._~-]")  # RFC 3986, 2.3
_UNUSUAL: Final = re.compile(  # RFC 3986, 6.2.2.3 and 6.2.3: other spellings of what is another IRI here
    r"https?://[^?#]*/(?:\.|%2[Ee]){1,2}(?=[/?#]|$)"
    r"|https?://[^/?#]*:(?:0\d*)?(?=[/?#]|$)"
    r"|http://[^/?#]*:80(?=[/?#]|$)|https://[^/?#]*:443(?=[/?#]|$)"
)
_COMPLETE: Final = re.compile(
    r"https?://[^/?#@]+(?:[/?#].*)?|urn:[A-Za-z0-9][A-Za-z0-9-]*:.+|(?:did|mailto|tag):.+"
)
_RESOLUTION: Final = re.compile(
    r"urn:[^?#]*\?[+=]"
)  # r- and q-components name no other thing (RFC 8141, 3.1)
_NUMERIC_HOST: Final = re.compile(r"(?:.*\.)?[0-9]+")
_TAIL: Final = re.compile(r"([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_ENCODED_MARK: Final = re.compile(r"%(?:21|24|2[6-9A-C]|3A|3B|3D|40)")
"""Encodings of characters that a path may have as they are (`pchar`: RFC 3986, 3.3)."""
_MAIL_MARK: Final = re.compile(r"%(?:21|24|27|28|29|2A|2B)")
"""Encodings of characters that an address has as they are, and that separate nothing (RFC 6068, 2)."""
_BRACKET: Final = re.compile(r"[\[\]]")
_IGNORABLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Letters and marks that nobody sees (`Default_Ignorable_Code_Point`), beside those of category Cf."""
_WITHOUT_CASE: Final = re.compile(  # RFC 8141, 3.1; RFC 9562, 4; DID 1.0, 3.1
    r"\Aurn:(?:(?i:uuid):[0-9A-Fa-f-]+|[A-Za-z0-9-]+:)|\Adid:[A-Za-z0-9]+:"
)
_MAIL: Final = re.compile(r"(mailto:[^@?#,]+@)([^@?#,]+)()", re.DOTALL)
"""One address and nothing else: a list, or a subject, names no party (RFC 6068, 2)."""
_DID_WEB: Final = re.compile(r"(did:web:)([^:/?#]*?)((?:%3A\d*)?(?:[:/?#].*)?)", re.DOTALL)
"""The domain name and what follows it, a port with its colon encoded (did:web, 2)."""
_PLAIN: Final = re.compile(
    r"(?:https?://(?!(?:[^/]*\.)?xn--)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]+/|urn:(?!uuid:)[a-z0-9-]+:)"
    r"[A-Za-z0-9_~/#-]+"
)
"""What is surely in the one spelling; most IRIs are."""


def iri_problem(iri: str) -> str:
    """Why a text is not an absolute IRI that a policy may use; empty if it is one.

    >>> iri_problem("http://example.com/Customer")
    ''
    >>> iri_problem("http://example.com/Store Category")
    'has a character that an IRI cannot have'
    >>> iri_problem("http://example.com:80/Customer")
    'has a default or empty port, or `.` or `..` in its path: leave it out'
    >>> iri_problem("http://Example.com/%43ustomer")
    'has another spelling than smalti accepts: write `http://example.com/Customer`'
    >>> iri_problem("http://example.com/C/Gr%C3%B6%C3%9Fe")
    'has another spelling than smalti accepts: write `http://example.com/C/Größe`'
    """
    if is_plain(iri):
        return ""
    problem = fault_of_iri(iri)
    if problem:
        return problem
    usual = accepted_spelling(iri)
    return "" if iri == usual else f"has another spelling than smalti accepts: write `{usual}`"


def has_forbidden(text: str) -> bool:
    """Whether a text has a character that no IRI has, relative ones included.

    >>> has_forbidden("{{ID}}"), has_forbidden("a/b")
    (True, False)
    """
    return _FORBIDDEN.search(text) is not None


def is_plain(iri: str) -> bool:
    """Whether an IRI is surely in the one spelling: quick, and no for some that are."""
    return _PLAIN.fullmatch(iri) is not None


def fault_of_iri(iri: str) -> str:  # noqa: PLR0911 (one for each fault)
    """Why a text is no IRI in any spelling that a policy may use; empty if it is one."""
    scheme, colon, _ = iri.partition(":")
    if not colon:
        return "is not an absolute IRI"
    if scheme not in SCHEMES:
        return "has a prefix or scheme that is not defined"
    if _FORBIDDEN.search(iri):
        return "has a character that an IRI cannot have"
    if not _COMPLETE.fullmatch(iri):
        return "is not a complete IRI"
    if _UNUSUAL.match(iri):
        return "has a default or empty port, or `.` or `..` in its path: leave it out"
    if _RESOLUTION.match(iri):
        return "has a part `?+` or `?=`, which names no other thing: leave it out"
    if any(_decoded(run) == run.group() for run in _BEYOND_ASCII.finditer(iri)):
        return "has percent-encodings that are not UTF-8"
    if scheme == "mailto" and not _MAIL.fullmatch(_ENCODED.sub(_spelled, iri)):
        return "does not name exactly one address, and nothing else"
    address = _ADDRESS.fullmatch(iri)
    if address is not None:
        return _fault_of_host(_host(address[2])[0])
    named = _named_host(_ENCODED.sub(_spelled, iri))
    return "" if named is None else _fault_of_host(named[2])


def _fault_of_host(host: str) -> str:
    """Why a host is no name or address, or one that has several spellings."""
    if host.startswith("["):
        try:
            IPv6Address(host.removeprefix("[").removesuffix("]"))
        except AddressValueError:
            return "has a host that is not an address"
        return ""
    name = _BEYOND_ASCII.sub(_decoded, _ENCODED.sub(_spelled, host)).lower()
    if name.endswith("."):
        return "has a host that ends with a dot: leave it out"
    if _NUMERIC_HOST.fullmatch(name):
        try:
            IPv4Address(name)
        except AddressValueError:
            return "has a host that is not an address"
    has_variants = normalize("NFKC", name) != normalize("NFC", name)
    if has_variants or not all(map(_is_of_host, name)) or "" in name.split("."):
        return "has a host that is not a domain name"
    return ""


def _is_of_host(character: str) -> bool:
    if character.isascii():
        return character.isalnum() or character in "-._~"
    return category(character)[0] in "LMN" and not _IGNORABLE.match(character)


def _named_host(iri: str) -> re.Match[str] | None:
    """The domain name in an IRI of another scheme than the web's, and what is around it.

    Of an IRI with its unreserved letters decoded.
    """
    return _MAIL.fullmatch(iri) if iri.startswith("mailto:") else _DID_WEB.fullmatch(iri)


def accepted_spelling(iri: str) -> IRI:
    """The one spelling of an IRI in which smalti accepts it: as `normalised_iri`, and as people write it.

    Letters beyond ASCII are not percent-encoded, nor are the characters that a path may have as they are
    (RFC 3986, 3.3: `a:b`, and not `a%3Ab`), except in a query, where they separate. What nobody sees, and
    accents without a letter, are encoded. A web address without a path has no slash at its end.

    >>> accepted_spelling("http://example.com/T/Gr%c3%b6%c3%9fe")
    'http://example.com/T/Größe'
    >>> accepted_spelling("http://example.com/a%3Ab#T")
    'http://example.com/a:b#T'
    """
    start, path, query, fragment = parts_of_iri(normalised_iri(iri))
    tail = _with_marks(path) + query + _with_marks(fragment)
    if start.startswith(("http://", "https://")):
        return IRI(start + _BEYOND_ASCII.sub(_letters, tail))
    return IRI(_BEYOND_ASCII.sub(_letters, start + tail))


def respelled(iri: str) -> str:
    """A text with an IRI in the one accepted spelling, where it differs by what may be encoded or not.

    Descriptions in CSVW, and tools, encode what people write as it is. Other spellings are refused later
    (`iri_problem`), as is what is no IRI.

    >>> respelled("http://example.com/T/Gr%C3%B6%C3%9Fe")
    'http://example.com/T/Größe'
    >>> respelled("http://Example.com/T")
    'http://Example.com/T'
    """
    if is_plain(iri) or fault_of_iri(iri):
        return iri
    address = _ADDRESS.fullmatch(iri)
    rooted = iri if address is None else f"{address[1]}{address[2]}{_rooted(address[3])}"
    written = _without_brackets(_encoded(rooted))
    if iri.startswith("mailto:"):
        written = _MAIL_MARK.sub(lambda match: chr(int(match.group()[1:], 16)), written)
    return accepted_spelling(iri) if written == normalised_iri(iri) else iri


def _with_marks(part: str) -> str:
    return _ENCODED_MARK.sub(lambda match: chr(int(match.group()[1:], 16)), part)


def percent_encoded(match: re.Match[str]) -> str:
    """The percent-encoding of what an expression matched."""
    return quote(match.group())


def _letters(match: re.Match[str]) -> str:
    """The letters that a run of encodings stands for; what must stay encoded, so."""
    text = _decoded(match)
    if text == match.group():
        return text
    shown = [_is_shown(character) for character in text]
    bare = next((place for place, character in enumerate(text) if category(character)[0] != "M"), len(text))
    return "".join(
        character if is_shown and place >= bare and _is_joined(text, shown, place) else quote(character)
        for place, (character, is_shown) in enumerate(zip(text, shown, strict=True))
    )


def _is_shown(character: str) -> bool:
    is_drawn = category(character)[0] in "LMNPS"
    return is_drawn and not _IGNORABLE.match(character) and not _FORBIDDEN.match(character)


def _is_joined(text: str, shown: list[bool], place: int) -> bool:
    """Whether a character is no accent, or stands on a letter that is not encoded."""
    while place and category(text[place])[0] == "M":
        place -= 1
        if not shown[place]:
            return False
    return True


def misspelt_iri(text: str) -> str:
    """The problem of a text that is an IRI, but not in the spelling that smalti accepts; else empty.

    Such a text is refused where another text would be one: it would escape what names the IRI.

    >>> misspelt_iri("http://example.com:80/C")
    'has a default or empty port, or `.` or `..` in its path: leave it out'
    >>> misspelt_iri("note: not an IRI")
    ''
    """
    scheme, colon, rest = text.partition(":")
    usual = f"{scheme.lower()}:{rest}"
    if usual.startswith(("http://", "https://")):
        return iri_problem(text)
    if not colon or scheme.lower() not in SCHEMES or _FORBIDDEN.search(usual):
        return ""
    return iri_problem(text) if _COMPLETE.fullmatch(usual) else ""


def file_stem(output: str) -> str:
    """The name of an output's file without its ending: the last part of its IRI, in letters of all systems.

    >>> file_stem("http://example.com/anon/Größe 2#")
    'Gr-e-2'
    """
    last = re.split(r"[/#:]", output.rstrip("/#:"))[-1]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip(".-") or "output"


@lru_cache(maxsize=1 << 16)
def normalised_iri(iri: str) -> IRI:
    """The one spelling of an IRI (RFC 3987, 3.1 and 5.3.2; RFC 3986, 6.2.2).

    What is beyond ASCII is in Unicode's normal form C and percent-encoded, percent-encodings are in upper
    case, and those of unreserved characters are decoded. The host of a web address, of a mail address (RFC
    5321, 2.3.5) and of `did:web` is in lower case, and in Punycode where it is not ASCII (RFC 5890,
    2.3.2.1). An empty path is one without a slash. What a
    server may take for the same (another slash at the end, the scheme `https`) is another IRI.

    >>> normalised_iri("http://Example.com/party/%61nn")
    'http://example.com/party/ann'
    >>> normalised_iri("http://xn--gre-6ka8i.example/") == normalised_iri("http://größe.example/")
    True
    """
    iri = _ENCODED.sub(_spelled, iri)  # first: an encoded letter may stand in a host, or before an accent
    if iri.startswith(("urn:", "did:")):
        iri = _WITHOUT_CASE.sub(lambda match: match.group().lower(), iri, count=1)
    named = _named_host(iri)
    if named is not None:
        iri = f"{named[1]}{_ascii_name(named[2])}{named[3]}"
    address = _ADDRESS.fullmatch(iri)
    if address is not None:
        iri = f"{address[1]}{_ascii_authority(address[2])}{_rooted(address[3])}"
    if iri.startswith("mailto:"):
        iri = _MAIL_MARK.sub(lambda match: chr(int(match.group()[1:], 16)), iri)
    iri = _without_brackets(iri)
    if iri.isascii() and "%" not in iri:
        return IRI(iri)
    # Between the encodings that stay: an accent must not join the last digit of one.
    parts = _ENCODED_ASCII.split(_BEYOND_ASCII.sub(_decoded, iri))
    composed = "".join(part if part[:1] == "%" else normalize("NFC", part) for part in parts)
    return IRI(_TO_SPELL.sub(_spelled, composed))


def _ascii_authority(authority: str) -> str:
    """An authority in lower case, its host in the letters of the domain name system."""
    host, port = _host(authority)
    if host.startswith("[") and host.endswith("]"):
        try:
            return f"[{IPv6Address(host[1:-1]).compressed}]{port}"
        except AddressValueError:
            return host.lower() + port
    return _ascii_name(host) + port


def _ascii_name(host: str) -> str:
    """A domain name in lower case, in the letters of the domain name system."""
    return ".".join(map(_ascii_label, _BEYOND_ASCII.sub(_decoded, host).lower().split(".")))


def _without_brackets(iri: str) -> str:
    """An IRI with brackets encoded, which only an address of a host has as they are (RFC 3986, 3.2.2)."""
    address = _ADDRESS.fullmatch(iri)
    if address is None:
        return _BRACKET.sub(percent_encoded, iri)
    return f"{address[1]}{address[2]}{_BRACKET.sub(percent_encoded, address[3])}"


def _rooted(tail: str) -> str:
    """What follows an authority, an empty path in its one spelling (RFC 3986, 6.2.3)."""
    return f"/{tail}" if tail[:1] in {"?", "#"} else "" if tail == "/" else tail


def _host(authority: str) -> tuple[str, str]:
    """The host, and a port with its colon; empty where there is none."""
    host, colon, port = authority.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit():
        return authority, ""
    return host, colon + port


def _ascii_label(label: str) -> str:
    name = label = normalize("NFC", label)
    if len(label) > _LONGEST_LABEL:
        return label
    if label.startswith(_PUNYCODE):
        try:
            name = label.removeprefix(_PUNYCODE).encode("ascii").decode("punycode")
        except UnicodeError:
            return label
        if name.isascii():  # Punycode of what needs none: no name has this label
            return label
    name = normalize("NFC", name.lower())
    return name if name.isascii() else _PUNYCODE + name.encode("punycode").decode("ascii")


def _encoded(iri: str) -> str:
    """An IRI with what is beyond ASCII percent-encoded, and all that is encoded as it is."""
    return _TO_SPELL.sub(lambda match: _uppercase(match.group()), iri)


def _uppercase(part: str) -> str:
    return part.upper() if part.isascii() else quote(part)


def _decoded(match: re.Match[str]) -> str:
    try:
        return unquote(match.group(), errors="strict")
    except UnicodeError:
        return match.group()


def _spelled(match: re.Match[str]) -> str:
    part = match.group()
    if not part.isascii() or part == "%":
        return quote(part)
    character = chr(int(part[1:], 16))
    return character if _UNRESERVED.fullmatch(character) else part.upper()


def parts_of_iri(iri: str) -> tuple[str, str, str, str]:
    """What stands before the path, or before the name in it; that; a query; a fragment."""
    address = _ADDRESS.fullmatch(iri)
    if address is not None:
        start, tail = f"{address[1]}{address[2]}", address[3]
    elif iri.startswith("urn:"):
        space, _, name = iri.removeprefix("urn:").partition(":")
        start, tail = f"urn:{space}:", name
    else:
        table, slash, name = iri.rpartition("/")
        start, tail = (f"{table}/", name) if slash and not _IS_NO_NAME.search(name) else (iri, "")
    parts = _TAIL.fullmatch(tail)
    path, query, fragment = ("", "", "") if parts is None else (part or "" for part in parts.groups())
    return start, path, query, fragment
