"""What the name of a column says of its role: a hint from a short list of English and German words.

A list of words knows few names and no data. What it does not know is left to the reader to decide.
"""

import re
from enum import Enum
from typing import Final

_WORD: Final = re.compile(r"[A-ZÄÖÜ]+(?![a-zäöüß])|[A-ZÄÖÜ]?[a-zäöüß]+")
_LETTERS: Final = re.compile(r"[A-Za-zÄÖÜäöüß]+")
_PEOPLE: Final = (
    "patient", "person", "people", "customer", "client", "employee", "user", "member", "student", "citizen",
    "resident", "respondent", "subject", "participant",
)  # fmt: skip
_OF_NAMES: Final = frozenset((*_PEOPLE, "first", "last", "given", "family", "full", "middle", "maiden"))
_NAMES: Final = frozenset((
    "name", "surname", "forename", "firstname", "lastname", "fullname", "vorname", "nachname",
))  # fmt: skip
_ADDRESSES: Final = frozenset((
    "ssn", "email", "mail", "phone", "telephone", "mobile", "telefon", "fax", "iban", "passport",
    "username", "login", "address", "adresse", "street", "strasse", "straße", "ip",
))  # fmt: skip
_KEYS: Final = frozenset((
    "id", "ids", "identifier", "uuid", "guid", "mrn", "number", "no", "nr", "num", "nummer", "key", "pid",
))  # fmt: skip
_JOINED_KEY: Final = re.compile(rf"({'|'.join(_PEOPLE)}|case|record|visit)(en)?({'|'.join(_KEYS)})")
_KNOWN: Final = frozenset((
    "age", "alter", "born", "birth", "birthdate", "birthday", "birthplace", "birthyear", "dob",
    "geburtsdatum", "geburtstag", "geburtsort", "geburtsjahr", "sex", "gender", "geschlecht", "zip",
    "zipcode", "postcode", "postal", "plz", "postleitzahl", "city", "town", "ort", "wohnort", "country",
    "region", "state", "county", "district", "nationality", "occupation", "job", "profession", "beruf",
    "education", "marital", "familienstand",
))  # fmt: skip
_SENSITIVE: Final = (
    "diagnos", "disease", "illness", "icd", "symptom", "medication", "medicine", "treatment", "therap",
    "hiv", "disabilit", "krank", "erkrank", "salary", "income", "wage", "einkommen", "gehalt", "convict",
    "criminal",
)  # fmt: skip
"""Begins of words."""


class Hint(Enum):
    """What a name hints at."""

    NAMES_PEOPLE = "names people"
    """A person's name, or where to reach or find the person."""
    KEY = "key"
    """A number of a record or of a person, if it has many values."""
    KNOWN = "known"
    """What others often know of a person."""
    SENSITIVE = "sensitive"
    """What nobody should learn of a person: health, money, crime."""


def hint_of(name: str) -> Hint | None:
    """What the name of a column hints at; None: nothing that is on the list."""
    parts = {word.lower() for word in _WORD.findall(name)}
    words = parts | {word.lower() for word in _LETTERS.findall(name)}
    if _ADDRESSES & words or (_NAMES & parts and parts <= _NAMES | _OF_NAMES):
        return Hint.NAMES_PEOPLE
    if any(word in _KEYS or _JOINED_KEY.fullmatch(word) for word in words):
        return Hint.KEY
    if any(word.startswith(_SENSITIVE) for word in words):
        return Hint.SENSITIVE
    return Hint.KNOWN if _KNOWN & words else None
