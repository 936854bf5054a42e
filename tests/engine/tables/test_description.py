"""Descriptions of data: W3C CSVW, as far as it is understood, and nothing that is half understood."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from shell import (
    CUSTOMER,
    HEADER,
    OUTPUT,
    Ran,
    listing,
    request,
    small_policy,
    small_rows,
    small_table,
    smalti,
)

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.sources import bind, read_description
from smalti.errors import DataError, UsageError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

TARGET = IRI(CUSTOMER)
RESPONDENT = "https://w3id.org/smalti#respondent"
ZONE = "https://w3id.org/smalti#timeZone"
PRIVACY_ID = "https://w3id.org/csvw-eo#public.privacyId"
ONE_ROW_EACH = "https://w3id.org/smalti#oneRowEach"


def document(*columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Metadata of `people.csv`."""
    listed = list(columns) or [{"name": name} for name in HEADER]
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": "people.csv",
        "tableSchema": {"columns": listed},
        **more,
    }


def write(folder: Path, content: Any, name: str = "people.csv-metadata.json") -> Path:
    place = folder / name
    place.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return place


def read(folder: Path, *columns: dict[str, Any], **more: Any) -> Description:
    return read_description(write(folder, document(*columns, **more)))[0]


def refusal(folder: Path, content: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_description(write(folder, content))
    assert "people.csv-metadata.json" in caught.value.where
    assert caught.value.expected
    assert caught.value.way_out
    return str(caught.value)


# --- Finding it


def test_it_is_found_by_itself(tmp_path: Path) -> None:
    data = small_table(tmp_path)
    bare = Source(TARGET, data, OutputFormat.CSV, Description())
    assert bind(TARGET, data) == bare
    metadata = write(tmp_path, document(**{RESPONDENT: "who"}))
    found = bind(TARGET, data)
    assert (found.path, found.format, found.description.respondent) == (data, OutputFormat.CSV, "who")
    assert bind(TARGET, metadata) == found


def test_it_may_be_named_otherwise_when_it_is_bound_itself(tmp_path: Path) -> None:
    data = small_table(tmp_path)
    other = write(tmp_path, document(**{RESPONDENT: "who"}), "second-metadata.json")
    assert bind(TARGET, other).path == data
    assert bind(TARGET, other).description.respondent == "who"
    assert bind(TARGET, data).description == Description()


def test_it_must_be_about_the_file_beside_it(tmp_path: Path) -> None:
    data = small_table(tmp_path)
    write(tmp_path, document(url="customers.csv"))
    with pytest.raises(DataError, match=r"it describes `customers.csv`; expected `people.csv`"):
        bind(TARGET, data)


@pytest.mark.parametrize("url", ["../people.csv", "/etc/people.csv", "sub/people.csv", "", ".", ".."])
def test_it_never_leads_out_of_its_folder(tmp_path: Path, url: str) -> None:
    assert "`url` leaves the folder" in refusal(tmp_path, document(url=url))


def test_the_file_that_it_names_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        bind(TARGET, write(tmp_path, document()))


def test_parquet_may_be_described(tmp_path: Path) -> None:
    (tmp_path / "people.parquet").touch()
    metadata = write(tmp_path, document(url="people.parquet"), "people.parquet-metadata.json")
    assert bind(TARGET, metadata).format is OutputFormat.PARQUET
    assert bind(TARGET, tmp_path / "people.parquet") == bind(TARGET, metadata)


# --- What it says


@pytest.mark.parametrize(
    ("said", "datatype"),
    [
        ("string", Datatype.STRING),
        ("integer", Datatype.INTEGER),
        ("long", Datatype.INTEGER),
        ("nonNegativeInteger", Datatype.INTEGER),
        ("decimal", Datatype.DECIMAL),
        ("number", Datatype.DOUBLE),
        ("double", Datatype.DOUBLE),
        ("date", Datatype.DATE),
        ("dateTime", Datatype.DATETIME),
        ("datetime", Datatype.DATETIME),
        ({"base": "integer"}, Datatype.INTEGER),
        ({"base": "dateTime"}, Datatype.DATETIME),
        (None, None),
    ],
)
def test_datatypes(tmp_path: Path, said: Any, datatype: Datatype | None) -> None:
    column = {"name": "age"} if said is None else {"name": "age", "datatype": said}
    assert read(tmp_path, column).column("age").datatype is datatype


@pytest.mark.parametrize("said", ["gYear", "Integer", "xsd:integer", {"base": "duration"}])
def test_a_datatype_that_is_not_implemented_is_named(tmp_path: Path, said: Any) -> None:
    message = refusal(tmp_path, document({"name": "age", "datatype": said}))
    assert "column `age`" in message
    assert "is not implemented; expected one of base64Binary, binary, date, dateTime" in message


@pytest.mark.parametrize(
    "said",
    [{"base": "date", "length": 10}, {"base": "integer", "minExclusive": 0}, {}, 7, ["integer"]],
)
def test_a_restricted_datatype_is_refused(tmp_path: Path, said: Any) -> None:
    assert "the description is not understood" in refusal(
        tmp_path, document({"name": "age", "datatype": said})
    )


def test_a_property_url_is_the_columns_iri(tmp_path: Path) -> None:
    said = read(tmp_path, {"name": "age", "propertyUrl": "http://example.com/terms#age"}, {"name": "who"})
    assert said.column("age").iri == "http://example.com/terms#age"
    assert said.column("who").iri is None
    assert said.column("unheard of").iri is None


@pytest.mark.parametrize("url", ["http://example.com/{_name}", "#age", "age", ""])
def test_a_property_url_is_an_absolute_iri(tmp_path: Path, url: str) -> None:
    message = refusal(tmp_path, document({"name": "age", "propertyUrl": url}))
    assert "`propertyUrl` is not an absolute IRI" in message


def test_a_policy_names_columns_by_their_property_urls(tmp_path: Path) -> None:
    """The default IRIs are of no use then: the policy's columns are found by what the description says."""
    data = small_table(tmp_path)
    columns = [{"name": name, "propertyUrl": f"http://example.com/terms#{name}"} for name in HEADER]
    write(tmp_path, document(*columns))
    policy = small_policy(tmp_path)
    ran = smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    assert ran.code == 1
    assert f"has no column `{CUSTOMER}/age`" in ran.message
    policy.write_text(policy.read_text().replace(f"{CUSTOMER}/", "http://example.com/terms#"))
    assert smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path).code == 0


# --- The respondent


@pytest.mark.parametrize("key", [RESPONDENT, "s:respondent", "smalti:respondent"])
@pytest.mark.parametrize("value", ["who", {"@id": "who"}])
def test_a_respondent_in_each_spelling(tmp_path: Path, key: str, value: Any) -> None:
    said = read(tmp_path, **{key: value})
    assert (said.respondent, said.one_row_each) == ("who", False)


@pytest.mark.parametrize("value", [ONE_ROW_EACH, "s:oneRowEach", "smalti:oneRowEach"])
@pytest.mark.parametrize("is_reference", [True, False])
def test_one_row_each_in_each_spelling(tmp_path: Path, value: str, is_reference: bool) -> None:
    said = read(tmp_path, **{RESPONDENT: {"@id": value} if is_reference else value})
    assert (said.respondent, said.one_row_each) == (None, True)


@pytest.mark.parametrize("key", [PRIVACY_ID, "csvw-eo:public.privacyId", "public.privacyId"])
def test_the_privacy_id_of_csvw_eo_is_the_respondent(tmp_path: Path, key: str) -> None:
    said = read(tmp_path, {"name": "who", key: True}, {"name": "age", key: False})
    assert said.respondent == "who"


def test_the_same_respondent_may_be_declared_twice(tmp_path: Path) -> None:
    assert read(tmp_path, {"name": "who", PRIVACY_ID: True}, **{RESPONDENT: "who"}).respondent == "who"


@pytest.mark.parametrize(
    ("columns", "more", "told"),
    [
        ([{"name": "who", PRIVACY_ID: True}, {"name": "age", PRIVACY_ID: True}], {}, "several respondents"),
        ([{"name": "who", PRIVACY_ID: True}], {RESPONDENT: ONE_ROW_EACH}, "several respondents"),
        ([{"name": "who", PRIVACY_ID: True}, {"name": "age"}], {RESPONDENT: "age"}, "several respondents"),
        ([{"name": "who"}], {RESPONDENT: "Who"}, "the respondent `Who` is not among the described columns"),
        ([{"name": "who", PRIVACY_ID: "yes"}], {}, "not understood"),
        ([{"name": "who"}], {RESPONDENT: ["who"]}, "not understood"),
        ([{"name": "who"}], {RESPONDENT: {}}, "not understood"),
        ([{"name": "who"}], {RESPONDENT: {"id": "who"}}, "not understood"),
    ],
)
def test_a_respondent_that_cannot_be_told_is_refused(
    tmp_path: Path, columns: list[dict[str, Any]], more: dict[str, Any], told: str
) -> None:
    assert told in refusal(tmp_path, document(*columns, **more))


def test_policy_and_description_must_agree(tmp_path: Path) -> None:
    data, policy = small_table(tmp_path, respondent="age"), small_policy(tmp_path)
    text = json.loads(policy.read_text())
    text["@context"].append("https://w3id.org/smalti/context.jsonld")
    text["profile"] = [text["profile"], "https://w3id.org/smalti#"]
    text["permission"][0]["action"][0]["refinement"].append(
        {"leftOperand": "smalti:respondent", "operator": "eq", "rightOperand": {"@id": f"{CUSTOMER}/who"}}
    )
    policy.write_text(json.dumps(text))
    ran = smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    assert ran.code == 1
    assert "policy and description declare different respondents" in ran.message
    small_table(tmp_path, respondent="who")
    assert smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path).code == 0


# --- What is public of values and contributions

EO = "https://w3id.org/csvw-eo#"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"csvw-eo:lowerBound": 0, "csvw-eo:upperBound": 120}, (Decimal(0), Decimal(120))),
        ({EO + "lowerBound": -0.10, "upperBound": 1e2}, (Decimal("-0.1"), Decimal(100))),
        ({"datatype": {"base": "integer", "minimum": 0, "maximum": "120"}}, (Decimal(0), Decimal(120))),
        ({"datatype": {"base": "decimal", "minimum": "0.1"}}, (Decimal("0.1"), None)),
        ({"datatype": {"base": "integer", "minimum": 1.0}, "lowerBound": 1}, (Decimal(1), None)),
        ({}, (None, None)),
    ],
)
def test_bounds_in_each_spelling(tmp_path: Path, said: dict[str, Any], expected: Any) -> None:
    column = read(tmp_path, {"name": "age", **said}).column("age")
    assert (column.lower, column.upper) == expected


def test_bounds_are_exact(tmp_path: Path) -> None:
    text = json.dumps(document({"name": "age"})).replace(
        '"name": "age"', '"name": "age", "lowerBound": 0.1000000000000000055511151231257827'
    )
    found, _ = read_description(write(tmp_path, text))
    assert str(found.column("age").lower) == "0.1000000000000000055511151231257827"


@pytest.mark.parametrize("key", [EO + "keyValues", "csvw-eo:keyValues", "keyValues"])
def test_public_values_in_each_spelling(tmp_path: Path, key: str) -> None:
    assert read(tmp_path, {"name": "sex", key: ["f", "m", 7]}).column("sex").values == ("f", "m", "7")


def test_public_partitions_of_csvw_eo_are_public_values(tmp_path: Path) -> None:
    partitions = [
        {"@type": "csvw-eo:Partition", "csvw-eo:predicate": {"csvw-eo:partitionValue": value}}
        for value in ("f", "m")
    ]
    column = {"name": "sex", "csvw-eo:public.partitions": partitions}
    assert read(tmp_path, column).column("sex").values == ("f", "m")
    assert read(tmp_path, {**column, "keyValues": ["m", "f"]}).column("sex").values == ("m", "f")


def test_what_else_is_public(tmp_path: Path) -> None:
    said = read(
        tmp_path,
        {
            "name": "age",
            "s:unit": 0.5,
            "s:imageWidth": 28,
            "smalti:imageHeight": 14,
            "csvw-eo:bounds.maxGroupsPerUnit": 2,
            "smalti:derivedFromData": True,
        },
        {"name": "who"},
        **{"csvw-eo:bounds.maxContributions": 3},
    )
    age, who = said.column("age"), said.column("who")
    assert (age.unit, age.most_groups, age.is_derived) == (Decimal("0.5"), 2, True)
    assert (age.image_size, who.image_size) == ((28, 14), None)
    assert (who.unit, who.most_groups, who.is_derived) == (None, None, False)
    assert said.most_contributions == 3


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"lowerBound": 1, "upperBound": 1}, "its lower bound is not below its upper bound"),
        ({"lowerBound": 1, "datatype": {"base": "integer", "minimum": 0}}, "it has two lower bounds"),
        ({"datatype": {"base": "date", "minimum": "2024-01-01"}}, "its lower bound is not a number"),
        ({"lowerBound": "0"}, "`lowerBound` in tableSchema/columns/0 has a value of the wrong type"),
        ({"upperBound": True}, "has a value of the wrong type"),
        ({"upperBound": 10**101}, "its upper bound has too many digits"),
        ({"s:imageWidth": 28}, "one side of its images is stated"),
        ({"s:imageWidth": 0, "s:imageHeight": 1}, "not understood"),
        ({"s:imageWidth": 1.5, "s:imageHeight": 1}, "not understood"),
        ({"s:unit": 0}, "`smalti:unit` is not above 0"),
        ({"s:unit": -1}, "`smalti:unit` is not above 0"),
        ({"keyValues": []}, "its list of public values is empty"),
        ({"keyValues": ["f", ""]}, "contains an empty or repeated value"),
        ({"keyValues": ["1", 1]}, "contains an empty or repeated value"),
        ({"keyValues": [True]}, "has a value of the wrong type"),
        ({"keyValues": [0.5]}, "has a value of the wrong type"),
        ({"keyValues": ["f"], "public.partitions": [{"predicate": {"partitionValue": "m"}}]}, "differ"),
        ({"public.partitions": ["f"]}, "not understood"),
        ({"public.partitions": [{"predicate": {"lowerBound": 0, "upperBound": 1}}]}, "not understood"),
        ({"bounds.maxGroupsPerUnit": 0}, "not understood"),
        ({"smalti:derivedFromData": "yes"}, "not understood"),
        ({"smalti:derivedFromDate": True}, "did you mean `smalti:derivedFromData`?"),
    ],
)
def test_what_cannot_be_public_is_refused(tmp_path: Path, said: dict[str, Any], told: str) -> None:
    assert told in refusal(tmp_path, document({"name": "age", **said}))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_bound_is_a_number_of_json(tmp_path: Path, number: str) -> None:
    text = json.dumps(document({"name": "age"})).replace('"age"', f'"age", "lowerBound": {number}')
    assert "the description cannot be read" in refusal(tmp_path, text)


# --- What it must not say


@pytest.mark.parametrize(
    "content",
    [
        document(transformations=[]),
        document(tables=[]),
        document({"name": "age", "null": 7}),
        document({"name": "age", "lang": "de"}),
        document({"name": "age", "separator": ";"}),
        document({"name": "age", "default": "0"}),
        document({"name": "age", "virtual": True}),
        document({"name": "age", "https://w3id.org/smalti#unheardOf": True}),
        document({"titles": "age"}),
        document({"name": 7}),
        document({"name": "age", "required": "yes"}),
        document(tableSchema={}),
        document(tableSchema={"columns": {}}),
        document(tableSchema={"columns": [], "rowTitles": []}),
        {"url": "people.csv", "tableSchema": {"columns": []}},
        [],
        "7",
        "null",
    ],
)
def test_what_is_not_understood_is_refused_by_its_place(tmp_path: Path, content: Any) -> None:
    assert "the description is not understood" in refusal(tmp_path, content)


def test_all_places_are_told_at_once_and_no_value(tmp_path: Path) -> None:
    message = refusal(
        tmp_path, document({"name": "age", "default": "canary"}, transformations={"url": "canary"})
    )
    assert "`default` in tableSchema/columns/0 is not understood" in message
    assert "`transformations` is not understood" in message
    assert "canary" not in message


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "people.csv-metadata.json:1:1: not JSON"),
        ('{\n "url": ,\n}', "people.csv-metadata.json:2:9: not JSON"),
        ("[" * 100_000, "people.csv-metadata.json"),
        (" " * (1 << 20) + "{}", "people.csv-metadata.json"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(tmp_path: Path, content: str, told: str) -> None:
    assert told in refusal(tmp_path, content)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "people.csv-metadata.json"
    place.write_bytes(b'{"url": "\xff"}')
    with pytest.raises(DataError, match="the description cannot be read"):
        read_description(place)


def test_a_column_is_described_once(tmp_path: Path) -> None:
    assert "a column is described twice" in refusal(tmp_path, document({"name": "age"}, {"name": "age"}))


NOTES: dict[str, Any] = {
    "dc:title": "People",
    "dct:license": {"@id": "http://example.com/licence"},
    "dcterms:creator": [{"dialect": "none"}],
    "schema:url": 7,
    "rdfs:comment": "",
    "skos:note": None,
    "dcat:keyword": ["a"],
    "prov:wasDerivedFrom": {},
    "notes": [{"anything": {}}],
    "titles": {"en": "People"},
    "description": "",
    "comment": "",
    "@type": "Table",
    "@id": "http://example.com/Customer",
}


def test_notes_for_people_are_passed_over_wherever_they_stand(tmp_path: Path) -> None:
    plain = read(tmp_path, {"name": "age", "datatype": "integer"})
    noted = document({"name": "age", "datatype": {"base": "integer", **NOTES}, **NOTES}, **NOTES)
    noted["tableSchema"] |= NOTES
    found, _ = read_description(write(tmp_path, noted))
    assert found == plain


# --- Time zones: from the description, never from the session


def timed(folder: Path, times: list[str], zone: str | None, datatype: str | None = "dateTime") -> Ran:
    rows = [[row[0], time, *row[2:]] for row, time in zip(small_rows(len(times)), times, strict=True)]
    data = small_table(folder, rows)
    columns: list[dict[str, Any]] = [{"name": name} for name in HEADER]
    columns[1] |= {} if datatype is None else {"datatype": datatype}
    columns[1] |= {} if zone is None else {ZONE: zone}
    write(folder, document(*columns))
    quasi = ("isAllOf", [{"@id": f"{CUSTOMER}/age"}])
    policy = small_policy(folder, **{"quasi-identifier": quasi, "sensitive": None})
    return smalti("run", policy, *request(data), "--out", "out", cwd=folder)


def labels(folder: Path) -> set[str]:
    lines = (folder / "out" / "anonCustomer.csv").read_text().splitlines()
    assert lines[0] == "age"
    return set(lines[1:])


APART = ["2024-01-01T00:00:00", "2023-12-31T23:30:00Z", "2024-06-01T12:00:00", "2024-06-01T10:30:00Z"]
"""In Rome, an hour before UTC in winter and two in summer: the naive ones are earlier by 30 minutes."""


def test_naive_times_are_instants_of_the_declared_zone(tmp_path: Path) -> None:
    assert timed(tmp_path, APART, "Europe/Rome").code == 0
    assert labels(tmp_path) == {f"[{APART[0]}..{APART[1]}]", f"[{APART[2]}..{APART[3]}]"}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("session", ["America/New_York", "Asia/Kolkata"])
def test_another_zone_gives_another_order_and_the_sessions_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, session: str
) -> None:
    import time  # noqa: PLC0415

    monkeypatch.setenv("TZ", session)
    time.tzset()
    try:
        assert timed(tmp_path, APART, zone).code == 0
    finally:
        monkeypatch.undo()
        time.tzset()
    first, second = (APART[1], APART[0]) if zone == "UTC" else (APART[0], APART[1])
    assert f"[{first}..{second}]" in labels(tmp_path)


def test_naive_and_zoned_times_without_a_zone_have_no_order(tmp_path: Path) -> None:
    before = listing(tmp_path).keys()
    ran = timed(tmp_path, APART, None)
    assert ran.code == 1
    assert "people.csv, column `age`, record 2: a value is not a valid dateTime" in ran.message
    assert listing(tmp_path).keys() - before == {
        "people.csv", "people.csv-metadata.json", "policy.jsonld"
    }  # fmt: skip
    assert timed(tmp_path, APART, None, datatype=None).code == 0
    published = labels(tmp_path)
    assert all(label.startswith("{") for label in published), published


def test_naive_times_among_themselves_need_no_zone(tmp_path: Path) -> None:
    times = ["2024-01-01T00:00:00", "2024-01-01T01:00", "2024-01-02 00:00:00", "2024-01-02T01:00:00.5"]
    assert timed(tmp_path, times, None, datatype=None).code == 0
    assert labels(tmp_path) == {f"[{times[0]}..{times[1]}]", f"[{times[2]}..{times[3]}]"}


def test_offsets_are_instants(tmp_path: Path) -> None:
    times = ["2024-01-01T09:00:00+09:00", "2024-01-01T00:00:00Z", "2024-01-01T02:00:00+01:00"] * 2
    assert timed(tmp_path, times, None).code == 0
    assert all("2024-01-01T00:00:00Z" in label or "02:00:00+01:00" in label for label in labels(tmp_path))


@pytest.mark.parametrize("zone", ["Europe/Roma", "europe/rome", "+01:00", "../../etc/passwd", ""])
def test_a_zone_that_is_not_known_is_refused(tmp_path: Path, zone: str) -> None:
    assert "unknown time zone" in refusal(tmp_path, document({"name": "age", ZONE: zone}))


@pytest.mark.parametrize("key", [ZONE, "s:timeZone", "smalti:timeZone"])
def test_a_time_zone_in_each_spelling(tmp_path: Path, key: str) -> None:
    assert read(tmp_path, {"name": "age", key: "Europe/Rome"}).column("age").time_zone == "Europe/Rome"


def test_an_output_has_its_own_iri(tmp_path: Path) -> None:
    """A description of the input says nothing about the output's columns."""
    data = small_table(tmp_path, respondent="who")
    ran = smalti(
        "run", small_policy(tmp_path), *request(data), "--out", "out", "--format", "json", cwd=tmp_path
    )
    assert ran.json["target"] == OUTPUT
