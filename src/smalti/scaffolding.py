"""What `init` writes: a description beside a file, and a short policy to edit.

INVARIANT: no value, bound, count or domain of the data is in what is written: names of columns, datatypes,
formats, and what the caller says.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smalti.engine.tables.canonical import file_safe
from smalti.engine.tables.csvw_dialect import Dialect
from smalti.engine.tables.formats import Format
from smalti.engine.tables.guessing import ProposedColumn
from smalti.engine.tables.parts import METADATA_SUFFIX
from smalti.engine.tables.proposing import Proposal
from smalti.errors import SmaltiError, UsageError, raise_all
from smalti.policy.model.suggest import did_you_mean
from smalti.policy.read.parse import parse, require_bound
from smalti.policy.short.plain import NOWHERE, array, plain_object, text_value
from smalti.policy.text.json_text import JsonNamed, JsonNumber, JsonValue
from smalti.policy.text.yaml_layout import lay_out_yaml
from smalti.roles import Parties, Roles, Scaffold

if TYPE_CHECKING:
    from smalti.engine.run.profiling import ColumnProfile, Profile

EXAMPLE: Final = "http://example.com/"
"""Where the IRIs are that nobody chose; the policy says that they are to be edited."""
POLICY_SUFFIX: Final = ".policy.yaml"
_NO_QUASI_IDENTIFIER: Final = "P417"
_KINDS: Final = re.compile(
    r"(?i)\.(csv|parquet|xlsx|duckdb|ddb|db|sqlite3?)(\.(gz|zst))?(?:-metadata\.json)?$"
)


def scaffold(profile: "Profile", name: str, roles: Roles, parties: Parties, out: Path | None) -> Scaffold:
    """Write a description and a policy for a table; overwrite nothing.

    Args:
        profile: of the table.
        name: of the policy's file, without its ending.
        roles: of columns.
        parties: who and what it is about.
        out: the folder of the policy; None: that of the data.

    Raises:
        UsageError: a column that is named is not there, a file is there already, or the folder is not.
        PolicyError: what was chosen makes no valid policy; all problems are listed.
    """
    _check_names(profile, roles)
    if name != file_safe(name):
        raise UsageError("name", "it is no name of a file", "letters, digits, `-`, `_` and `.`")
    folder = out or (profile.file.parent if profile.file is not None else Path())
    if not folder.is_dir():
        raise UsageError(str(folder), "there is no such folder", "a folder for the policy", "make it first")
    place = folder / f"{name}{POLICY_SUFFIX}"
    description = _description_place(profile, folder)
    _refuse_existing(place, *([] if description is None else [description]))
    policy = _Policy(profile, roles, parties, name)
    text = policy.text()
    _check_policy(text, place.name)
    if description is not None:
        _write(description, description_text(profile, roles))
    try:
        _write(place, text)
    except BaseException:
        if description is not None:
            description.unlink()
        raise
    return Scaffold(
        place,
        description,
        policy.dropped,
        tuple(policy.to_do()),
        policy.target,
        policy.owner,
        policy.party,
        policy.has_examples,
        names_description=profile.served is not None and description is not None,
    )


def name_of(profile: "Profile") -> str:
    """What the policy's file is called: as the data, without its kind."""
    if profile.file is None:
        table = profile.table or profile.served
        return "table" if table is None else file_safe(table)
    stem = file_safe(_KINDS.sub("", profile.file.name))
    return stem if profile.table is None else f"{stem}-{file_safe(profile.table).replace(' ', '-')}"


def _check_names(profile: "Profile", roles: Roles) -> None:
    names = [column.name for column in profile.columns]
    problems: list[SmaltiError] = [
        UsageError(
            option, f"the data has no column `{name}`", "a column of the data", did_you_mean(name, names)
        )
        for option, name in roles.named()
        if name not in names
    ]  # fmt: skip
    if roles.respondent is not None and roles.one_row_each:
        problems.append(
            UsageError(
                "--respondent", "--one-row-each says that each row is about another person", "one of them"
            )
        )
    if roles.l is not None and not roles.sensitive:
        problems.append(
            UsageError("--l", "no column is sensitive", "a --sensitive column whose values it counts")
        )
    raise_all(problems)


def _refuse_existing(*places: Path) -> None:
    raise_all([
        UsageError(
            str(place),
            "it exists already, and nothing is overwritten",
            "a path where nothing is",
            "edit it, or move it away",
        )
        for place in places
        if place.exists() or place.is_symlink()
    ])  # fmt: skip


def _write(place: Path, text: str) -> None:
    try:
        with place.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        _refuse_existing(place)
        raise


# --- The description


def _description_place(profile: "Profile", folder: Path) -> Path | None:
    """Where a description is to be written; None where there is one, or it would say nothing.

    That of a table on a server stands beside the policy, and commands name it.
    """
    if profile.description or not _says_something(profile):
        return None
    if profile.served is not None:
        return folder / f"{name_of(profile)}{METADATA_SUFFIX}"
    if profile.file is None:
        return None
    return profile.file.with_name(f"{profile.file.name}{METADATA_SUFFIX}")


def _says_something(profile: "Profile") -> bool:
    """Whether a description is needed; a table that states all datatypes itself needs none."""
    is_csv = profile.proposal is not None
    return is_csv or bool(profile.nulls) or any(
        not column.is_stated and (column.proposed.datatype is not None or column.mostly)
        for column in profile.columns
    )  # fmt: skip


def description_text(profile: "Profile", roles: Roles) -> str:
    """The description of a table on disk or on a server, as CSVW in JSON."""
    if profile.file is not None:
        url = profile.file.name if profile.table is None else f"{profile.file.name}#{profile.table}"
    elif profile.served is not None:
        url = profile.served
    else:
        return ""
    columns = tuple(ProposedColumn(column.name, None) for column in profile.columns)
    dialect = Dialect() if profile.proposal is None else profile.proposal.dialect
    metadata = Proposal(dialect, columns).metadata(url)
    schema = metadata.pop("tableSchema")
    if profile.nulls:
        nulls = list(profile.nulls)
        metadata["null"] = nulls[0] if len(nulls) == 1 else nulls
    schema["columns"] = [_described(column, roles.formats) for column in profile.columns]
    return json.dumps(metadata | {"tableSchema": schema}, indent=2, ensure_ascii=False) + "\n"


def _described(column: "ColumnProfile", formats: Mapping[str, Format]) -> dict[str, Any]:
    """A column; where people have to choose a format, with what they may choose."""
    proposed = column.proposed
    if column.is_stated:
        return {"name": column.name}
    described = proposed.described()
    if proposed.rival is not None:
        choice = formats.get(column.name)
        if choice is not None:
            return described | {"datatype": proposed.stated(choice)}
        both = " or ".join(json.dumps(proposed.stated(form)) for form in (proposed.format, proposed.rival))
        return described | {"comment": f'TODO: two formats fit. Write the right one as "datatype": {both}'}
    if column.mostly:
        listed = " or ".join(json.dumps(kind.described()["datatype"]) for kind in column.mostly)
        return described | {
            "comment": f'TODO: most values would fit "datatype": {listed}, but not all of them. Mend the'
            ' data, or declare texts for missing values as "null"; until then it is text'
        }  # fmt: skip
    return described


# --- The policy


def _check_policy(text: str, name: str) -> None:
    """Refuse a policy with a mistake, but for what stays to be filled in."""
    parsed = parse(text.encode(), name)
    if any(error.code != _NO_QUASI_IDENTIFIER for error in parsed.errors):
        require_bound(parsed)


class _Policy:
    """The short policy, line by line."""

    def __init__(self, profile: "Profile", roles: Roles, parties: Parties, name: str) -> None:
        self._roles, self._purpose = roles, parties.purpose
        says_person = roles.respondent is not None or roles.one_row_each
        self._knows_person = says_person or profile.states_respondent
        self._description = profile.description
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "table"
        self.target = parties.target or f"{EXAMPLE}{slug}"
        self.owner = parties.owner or f"{EXAMPLE}party/owner"
        self.party = parties.party or f"{EXAMPLE}party/recipient"
        self._iri = f"{EXAMPLE}policy/{slug}"
        self._output = f"{self.target}-published"
        self.has_examples = None in (parties.target, parties.owner, parties.party)
        named = {column for _, column in roles.named()}
        self.dropped = tuple(column.name for column in profile.columns if column.name not in named)
        self._ambiguous = tuple(
            column.name
            for column in profile.columns
            if column.mostly or (column.proposed.rival is not None and column.name not in roles.formats)
        )

    def to_do(self) -> Iterator[str]:
        """What stays to be filled in."""
        if not self._knows_person:
            yield "who the person is: `respondent`, or `one-row-each: true`"
        if not self._roles.quasi_identifiers:
            yield "what others may know of a person: `quasi-identifiers`"
        for column in self._ambiguous:
            yield f"the format of the column `{column}`: `datatype` in the description"

    def text(self) -> str:
        """The whole document."""
        return "\n".join([*self._head(), "", *self._method(), "", *self._columns(), ""])

    def _head(self) -> Iterator[str]:
        yield "# Written by `smalti init`, for you to edit. `smalti check` says what is missing or wrong;"
        yield "# docs/short-form.md lists the words."
        if self.has_examples:
            yield "# TODO: http://example.com/ stands for names of your own: write yours."
        yield _line("policy", text_value(self._iri), "the name of this policy")
        yield _line("owner", text_value(self.owner), "who issues it, and owns the data")
        yield _line("party", text_value(self.party), "who may do it, and gets the result")
        yield _line("target", text_value(self.target), "the data")
        yield _line("output", text_value(self._output), "the published table")
        if self._purpose is None:
            yield "# purpose: statistical         # for this purpose only; without it, for any"
        else:
            yield _line("purpose", text_value(self._purpose))

    def _method(self) -> Iterator[str]:
        roles = self._roles
        if roles.l is None:
            yield _line("method", text_value("k-anonymity"))
        else:
            yield _line("method", text_value("l-diversity"))
        yield _line("k", JsonNumber(str(roles.k), NOWHERE), "at least so many people in each class")
        if roles.l is not None:
            yield _line("l", JsonNumber(str(roles.l), NOWHERE), "with at least so many sensitive values")
        if roles.respondent is not None:
            yield _line("respondent", text_value(roles.respondent), "the column that tells people apart")
        elif roles.one_row_each:
            yield _line("one-row-each", JsonNamed(True, NOWHERE), "each row is about another person")
        elif self._knows_person:
            yield f"# {self._description} says who the person is."
        else:
            yield "# TODO: who is the person? The column that tells people apart, or one-row-each: true."
            yield "# respondent: COLUMN"

    def _columns(self) -> Iterator[str]:
        roles = self._roles
        if roles.quasi_identifiers:
            yield from _names(
                "quasi-identifiers", roles.quasi_identifiers, "what others may know: generalised"
            )
        else:
            yield "# TODO: what others may know of a person (age, place, dates); it is generalised."
            yield "# quasi-identifiers: [COLUMN, COLUMN]"
        yield from _names(
            "sensitive", roles.sensitive, "what nobody should learn of a person: kept as it is"
        )
        yield from _names("released", roles.released, "published as it is, on your responsibility")
        yield from _names("identifiers", roles.identifiers, "names a person: dropped")
        if self.dropped:
            yield "# Columns that no line above names are dropped:"
            for line in lay_out_yaml(plain_object({"dropped": _array(self.dropped)})).splitlines():
                yield f"#   {line.removeprefix('dropped: ').strip()}"


def _array(names: Iterable[str]) -> JsonValue:
    return array(map(text_value, names))


def _line(word: str, value: JsonValue, remark: str = "") -> str:
    """A word with its value, and a remark behind it."""
    text = lay_out_yaml(plain_object({word: value})).rstrip("\n")
    return f"{text}  # {remark}" if remark and "\n" not in text else text


def _names(word: str, names: Sequence[str], remark: str) -> Iterator[str]:
    if names:
        yield f"# {remark}"
        yield _line(word, _array(names))
    else:
        yield f"# {word}: [COLUMN]  # {remark}"
