"""Several releases about the same people: refused where their combination breaks a promise."""

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from shell import Ran, listing, smalti

from smalti.engine.anonymization.capability import Anonymization
from smalti.engine.run import driver
from smalti.engine.techniques import applying

PEOPLE = "http://example.com/people"
HOSPITAL, RESEARCHER = "http://example.com/party/hospital", "http://example.com/party/researcher"
WARDS = dict(zip(range(1, 9), "AAABBCCC", strict=True))
DISEASES = dict(zip(range(1, 9), "abcabcab", strict=True))
REFUSED = "together with earlier releases about the same respondents, a promise is broken"
UNKNOWN = "it cannot be told whether it breaks a promise together with earlier releases"


def table(folder: Path, people: list[int], name: str = "people.csv") -> Path:
    """The constructed case: by age and by ward, classes differ."""
    rows = [f"p{each},{each},{WARDS[each]},{DISEASES[each]}\n" for each in people]
    place = folder / name
    place.write_text("who,age,ward,disease\n" + "".join(rows))
    return place


def policy(folder: Path, name: str, column: str, *, people: str = "one-row-each: true", **more: str) -> str:
    words = {
        "policy": f"http://example.com/policy/{name}", "owner": HOSPITAL, "party": RESEARCHER,
        "target": PEOPLE, "purpose": "statistical", "method": "l-diversity", "k": "2", "l": "2",
        "quasi-identifiers": f"[{column}]", "sensitive": "[disease]",
        "output": f"http://example.com/{name}",
    }  # fmt: skip
    lines = [f"{word}: {value}" for word, value in (words | more).items()]
    (folder / f"{name}.yaml").write_text("\n".join([*lines, people, ""]))
    return f"{name}.yaml"


def run(folder: Path, name: str, *more: str, owner: str | None = HOSPITAL, data: str = "people.csv",
        target: str = PEOPLE, command: str = "run", out: str | None = None) -> Ran:  # fmt: skip
    asks = ["--data", f"{target}={data}", "--as", RESEARCHER, "--purpose", "statistical"]
    asks += [] if owner is None else ["--owner", owner]
    asks += (
        ["--out", out or name.removesuffix(".yaml")]
        if command == "run"
        else ["--registry", "smalti.sqlite"]
    )
    return smalti(command, name, *asks, *more, cwd=folder)


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A folder in which a release by age was made."""
    table(tmp_path, [*WARDS])
    assert run(tmp_path, policy(tmp_path, "by-age", "age")).code == 0
    return tmp_path


def test_the_release_that_singles_out_four_people_is_refused(released: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    table(alone, [*WARDS])
    assert run(alone, policy(alone, "by-ward", "ward")).code == 0, "it holds by itself"
    second, before = policy(released, "by-ward", "ward"), listing(released)
    refused = run(released, second)
    assert refused.code == 1
    assert REFUSED in refused.message
    assert "`http://example.com/by-age` version 1" in refused.message
    assert "4 respondents, in records 3, 4, 5, 6" in refused.message
    assert listing(released) == before, "nothing is published, registered or left"
    tried = run(released, second, command="try")
    assert tried.code == 1
    assert REFUSED in tried.message
    dry = run(released, second, "--dry-run")
    assert dry.code == 1
    assert "the run would stop" in dry.err
    assert "4 respondents, in records 3, 4, 5, 6" in " ".join(dry.err.split())
    assert "--recoding-of" not in refused.message + dry.err, "no earlier release has levels for it"
    assert listing(released) == before


def test_who_does_not_own_the_data_learns_that_it_is_so_and_no_more(tmp_path: Path) -> None:
    types = {"who": "string", "age": "integer", "ward": "string", "disease": "string"}
    columns = [{"name": name, "datatype": datatype} for name, datatype in types.items()]
    described: dict[str, Any] = {"@context": "http://www.w3.org/ns/csvw", "url": "people.csv"}
    described |= {"tableSchema": {"columns": columns}}
    table(tmp_path, [*WARDS])
    (tmp_path / "people.csv-metadata.json").write_text(json.dumps(described))
    assert run(tmp_path, policy(tmp_path, "by-age", "age")).code == 0
    second = policy(tmp_path, "by-ward", "ward")
    assert smalti("policy", "add", second, "--as", HOSPITAL, cwd=tmp_path).code == 0
    refused = run(tmp_path, second, owner=None)
    assert refused.code == 1
    assert REFUSED in refused.message, refused
    assert "by-age" not in refused.message
    assert "respondents, in" not in refused.message
    dry = run(tmp_path, second, "--dry-run", owner=None)
    assert dry.code == 1
    assert REFUSED in dry.err
    assert "by-age" not in dry.err
    with patch.object(Anonymization, "released_again", return_value=None):
        unknown = run(tmp_path, second, owner=None)
    assert unknown.code == 1
    assert UNKNOWN in unknown.message
    assert "described" not in unknown.message, "not even why"


def test_the_same_release_again_and_what_is_made_from_outputs_add_nothing(released: Path) -> None:
    assert run(released, "by-age.yaml", out="again").code == 0
    published = "http://example.com/by-age"
    wider = policy(released, "wider", "age", k="4", target=published)
    made = run(released, wider, target=published, data="by-age/by-age.csv")
    assert made.code == 0, made
    with_wards = policy(released, "with-wards", "age", released="[ward]")
    beside = run(released, with_wards)
    assert beside.code == 0, "it has the classes of the first; what was made from outputs is not asked for"


def test_coarser_classes_are_published_and_all_promises_count(released: Path) -> None:
    wider = policy(released, "wider", "age", k="4")
    refused = run(released, wider)
    assert refused.code == 1
    assert "in this run, an equivalence class has too few respondents" in refused.message
    assert "in `http://example.com/by-age`" not in refused.message.partition("; held together")[0]
    table(released, [*WARDS], "copy.csv")
    elsewhere = policy(released, "copied", "ward", target="http://example.com/copy")
    copied = run(released, elsewhere, target="http://example.com/copy", data="copy.csv")
    assert copied.code == 1, "the same bytes are about the same people, whatever they are called"
    assert REFUSED in copied.message


def test_who_is_in_a_collection_by_the_word_of_a_policy_is_the_same_person(released: Path) -> None:
    everybody = "http://example.com/everybody"
    rows = (released / "people.csv").read_text().splitlines()
    (released / "everybody.csv").write_text("\n".join([rows[0], *reversed(rows[1:]), ""]))
    by_ward = policy(released, "by-ward", "ward", target=everybody)
    document = json.loads(smalti("fmt", "--to", "json-ld", by_ward, cwd=released).out)
    context = document.pop("@context")
    member = {"uid": PEOPLE, "@type": "Asset", "partOf": everybody}
    stated = {"@context": context, "@graph": [document, member]}
    (released / "stated.jsonld").write_text(json.dumps(stated))
    there = {"target": everybody, "data": "everybody.csv"}
    refused = run(released, "stated.jsonld", **there, out="stated")
    assert refused.code == 1
    assert UNKNOWN in refused.message
    done = smalti("targets", "discard", "http://example.com/by-age", "--as", HOSPITAL, cwd=released)
    assert done.code == 0
    assert run(released, "stated.jsonld", **there, out="stated").code == 0
    refused = run(released, "by-age.yaml", out="again")
    assert refused.code == 1, "it stays so once it was said"
    assert UNKNOWN in refused.message


def test_a_discarded_release_is_held_together_with_nothing(released: Path) -> None:
    second = policy(released, "by-ward", "ward")
    kept = (released / "by-age" / "by-age.csv").read_bytes()
    stranger = smalti("targets", "discard", "http://example.com/by-age", "--as", RESEARCHER, cwd=released)
    assert (stranger.code, (released / "by-age").exists()) == (2, True)
    done = smalti("targets", "discard", "http://example.com/by-age", "--as", HOSPITAL, cwd=released)
    assert (done.code, (released / "by-age").exists()) == (0, False)
    assert run(released, second).code == 0
    (released / "copy.csv").write_bytes(kept)
    published = "http://example.com/by-age"
    derived = policy(released, "wider", "age", k="4", target=published)
    refused = run(released, derived, target=published, data="copy.csv")
    assert refused.code == 2
    assert "discarded it" in refused.message
    assert "discarded" in smalti("targets", cwd=released).out


def test_what_something_was_made_from_is_not_discarded(released: Path) -> None:
    published = "http://example.com/by-age"
    wider = policy(released, "wider", "age", k="4", target=published)
    assert run(released, wider, target=published, data="by-age/by-age.csv").code == 0
    refused = smalti("targets", "discard", published, "--as", HOSPITAL, cwd=released)
    assert refused.code == 2
    assert "wider version 1" in refused.message
    assert (released / "by-age" / "by-age.csv").exists()


def test_other_data_is_held_together_by_its_people(tmp_path: Path) -> None:
    whose = "respondent: who\nidentifiers: [who]"
    first = policy(tmp_path, "by-age", "age", people=whose)
    table(tmp_path, [*WARDS])
    assert run(tmp_path, first).code == 0
    (tmp_path / "people.csv").rename(tmp_path / "then.csv")
    table(tmp_path, [1, 2, 3, 4, 5, 6, 8])
    earlier = ("--earlier-data", "then.csv")
    unknown = run(tmp_path, first, out="later")
    assert unknown.code == 1
    assert UNKNOWN in unknown.message
    assert "--earlier-data" in unknown.message
    gone = run(tmp_path, first, *earlier, out="later")
    assert gone.code == 1, "who is in the first release alone is told apart"
    assert REFUSED in gone.message
    table(tmp_path, [1, 2, 3, 4])
    later = run(tmp_path, first, *earlier, out="later")
    assert later.code == 0, later


def test_rows_of_the_same_people_in_one_file_are_held_together(tmp_path: Path) -> None:
    place = table(tmp_path, [*WARDS])
    header, *rows = place.read_text().splitlines()
    months = [f"{month},{row}" for month in ("june", "july") for row in rows]
    place.write_text("\n".join([f"month,{header}", *months, ""]))
    whose = "respondent: who\nidentifiers: [who]\nrows: {month: {exactly: MONTH}}"
    june = policy(tmp_path, "by-age", "age", people=whose.replace("MONTH", "june"))
    july = policy(tmp_path, "by-ward", "ward", people=whose.replace("MONTH", "july"))
    assert run(tmp_path, june).code == 0
    refused = run(tmp_path, july)
    assert refused.code == 1
    assert REFUSED in refused.message


def test_people_who_cannot_be_recognised_in_other_data_are_not_taken_for_others(tmp_path: Path) -> None:
    def rows(id_: str) -> str:
        each = [f"{id_.format(n)},m{n},{n},{WARDS[n]},{DISEASES[n]}\n" for n in WARDS]
        return "who,mail,age,ward,disease\n" + "".join(each)

    whose = "respondent: who\nidentifiers: [who, mail]"
    (tmp_path / "then.csv").write_text(rows("{}.0"))
    assert run(tmp_path, policy(tmp_path, "by-age", "age", people=whose), data="then.csv").code == 0
    (tmp_path / "people.csv").write_text(rows("{}e0"))
    earlier = ("--earlier-data", "then.csv")
    by_mail = policy(tmp_path, "by-ward", "ward", people=whose.replace(": who", ": mail"))
    refused = run(tmp_path, by_mail, *earlier)
    assert (refused.code, UNKNOWN in refused.message) == (1, True)
    assert "another column" in refused.message
    described: dict[str, Any] = {"@context": "http://www.w3.org/ns/csvw", "url": "people.csv"}
    columns = [{"name": name} for name in ("who", "mail", "age", "ward", "disease")]
    columns[0]["datatype"] = "double"
    described["tableSchema"] = {"columns": columns}
    (tmp_path / "people.csv-metadata.json").write_text(json.dumps(described))
    refused = run(tmp_path, policy(tmp_path, "by-ward", "ward", people=whose), *earlier)
    assert (refused.code, UNKNOWN in refused.message) == (1, True)
    assert "another datatype" in refused.message


def test_other_data_in_which_nobody_is_told_apart_is_refused(released: Path) -> None:
    (released / "people.csv").rename(released / "then.csv")
    table(released, [1, 2, 3, 4, 5, 6])
    refused = run(released, "by-age.yaml", "--earlier-data", "then.csv", out="later")
    assert refused.code == 1
    assert UNKNOWN in refused.message
    assert "respondent column" in refused.message


def test_a_release_that_was_recorded_meanwhile_is_not_passed_over(tmp_path: Path) -> None:
    table(tmp_path, [*WARDS])
    first, second = policy(tmp_path, "by-age", "age"), policy(tmp_path, "by-ward", "ward")
    new_version = driver.new_version

    def late(*arguments: object, **named: object) -> object:
        with patch.object(driver, "new_version", new_version):
            assert run(tmp_path, first).code == 0
        return new_version(*arguments, **named)  # type: ignore[arg-type]

    with patch.object(driver, "new_version", late):
        refused = run(tmp_path, second)
    assert refused.code == 2
    assert "another release about the same respondents was recorded during the run" in refused.message
    assert not (tmp_path / "by-ward").exists()


def test_equal_content_of_other_data_is_another_release(tmp_path: Path) -> None:
    first = policy(tmp_path, "by-age", "age", people="respondent: who\nidentifiers: [who]")
    place = tmp_path / "people.csv"
    place.write_text("who,age,disease\na,1,flu\nb,2,gout\nc,5,flu\nd,6,cold\n")
    assert run(tmp_path, first).code == 0
    place.rename(tmp_path / "then.csv")
    place.write_text("who,age,disease\nc,1,flu\nb,2,gout\na,5,flu\nd,6,cold\n")  # two moved
    unknown = run(tmp_path, first, out="later")
    assert unknown.code == 1
    assert UNKNOWN in unknown.message
    refused = run(tmp_path, first, "--earlier-data", "then.csv", out="later")
    assert refused.code == 1
    assert REFUSED in refused.message
    (tmp_path / "then.csv").replace(place)
    assert run(tmp_path, first, out="again").code == 0


def test_a_sample_of_equal_content_can_be_of_other_people(tmp_path: Path) -> None:
    rows = [f"p{n},A,{disease}\n" for n, disease in enumerate(("flu", "gout", "flu", "flu"))]
    (tmp_path / "people.csv").write_text("who,ward,disease\n" + "".join(rows))
    words = {"algorithm": "[mondrian, sampling]", "sampling-rate": "0.75"}
    first = policy(tmp_path, "sample", "ward", **words)
    for place, drawn in enumerate(([True, True, True, False], [True, True, False, True])):
        with patch.object(applying, "sampled", lambda *_, drawn=drawn: np.array(drawn)):
            ran = run(tmp_path, first, out=f"draw-{place}")
        assert ran.code == place, ran
    assert UNKNOWN in ran.message, "three such draws would tell each disease"


def test_a_mistyped_place_of_earlier_data_is_no_silent_one(tmp_path: Path) -> None:
    table(tmp_path, [*WARDS])
    refused = run(tmp_path, policy(tmp_path, "by-age", "age"), "--earlier-data", "nothing.csv")
    assert refused.code == 2
    assert "nothing.csv" in refused.message
    assert not (tmp_path / "by-age").exists()


def test_what_is_discarded_says_so_and_tells_strangers_nothing(released: Path) -> None:
    assert run(released, "by-age.yaml", out="again").code == 0
    stranger = smalti("targets", "discard", "http://example.com/by-age", "--as", RESEARCHER, cwd=released)
    assert "urn:uuid" not in stranger.message
    several = smalti("targets", "discard", "http://example.com/by-age", "--as", HOSPITAL, cwd=released)
    assert "(version 1)" in several.message
    for version in re.findall("urn:uuid:[0-9a-f-]+", several.message):
        assert smalti("targets", "discard", version, "--as", HOSPITAL, cwd=released).code == 0
    gone = smalti("verify", "http://example.com/by-age", cwd=released)
    assert gone.code == 2
    assert "its owner discarded it" in gone.message
