"""Texts that are published as common prefixes, from the policy's word to verifier and readers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import HERE, TARGET, People, coded, make, permission

import smalti
from smalti.engine.anonymization.output_forms import stated_forms
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.plan import Column, OutputForm, OutputFormat, Role
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_to_json
from smalti.engine.verify.columns import Coded
from smalti.engine.verify.nodes import coverage
from smalti.engine.verify.verifier import Original, Output, verify_run
from smalti.errors import GuaranteeError, SmaltiError
from smalti.policy.model.model import Comparison, Logical, LogicalOperator, Named, Operator, Text
from smalti.transforms.base import Datatype
from smalti.transforms.problem import SCALE, PrefixedAttribute
from smalti.transforms.values.label_reading import read_prefixes
from smalti.transforms.values.labels import class_labels
from smalti.transforms.values.metrics import attribute_penalties
from smalti.transforms.values.texts import ValueFormError
from smalti.vocab.terms import COLUMN, IRI, OUTPUT_FORM

TEXTS = st.text(alphabet="ab[]{}|\\*é\n", min_size=1, max_size=4)
CITY = Column("city", IRI(f"{TARGET}/city"), Datatype.STRING, False, Role.QUASI_IDENTIFIER)


def labels_of(texts: list[str | None], classes: list[int]) -> tuple[pa.Array, list[int]]:
    """The labels of each class, and what each is charged."""
    book, codes = coded(texts, Datatype.STRING)
    attribute, numbers = PrefixedAttribute.of(book.texts), np.array(classes)
    labels = class_labels(replace(book, attribute=attribute), codes, numbers)
    return labels, attribute_penalties(attribute, codes, numbers).tolist()


def as_coded(texts: list[str | None]) -> Coded:
    whole = pa.array(texts, pa.large_string()).dictionary_encode()
    return Coded(np.array([-1 if c is None else c for c in whole.indices.to_pylist()]), whole.dictionary)


def test_labels_and_their_loss() -> None:
    texts = ["1001", "1004", "1100", "1001", None, None, "2"]
    labels, charged = labels_of(texts, [0, 0, 0, 1, 2, 3, 3])
    assert labels.to_pylist() == ["[1*]", "1001", None, "[2*|]"]
    assert charged == [3 * SCALE // 4, 0, 0, SCALE]


@settings(max_examples=examples(100, full=2000), deadline=None)
@given(st.lists(st.tuples(st.one_of(st.none(), TEXTS), st.integers(0, 3)), min_size=1, max_size=10), TEXTS)
def test_every_label_is_read_again_and_covers_its_class(
    rows: list[tuple[str | None, int]], other: str
) -> None:
    texts = [text for text, _ in rows]
    _, classes = np.unique(np.array([number for _, number in rows]), return_inverse=True)
    labels, _ = labels_of(texts, classes.tolist())
    for number, label in enumerate(labels.to_pylist()):
        inside = [text for text, of in zip(texts, classes, strict=True) if of == number]
        asked = [*inside, other, None]
        claims = coverage(
            replace(CITY, form=OutputForm.PREFIX), as_coded(asked), as_coded([label] * len(asked))
        ).claims(as_coded([label] * len(asked)).codes, as_coded(asked).codes)
        assert claims[: len(inside)].all()
        assert claims[-1] == (None in inside)
        if label is None:
            continue
        read = read_prefixes(pa.array([label], pa.large_string()))
        prefix, is_whole = read.texts[0].as_py(), read.is_whole[0].as_py()
        assert read.or_missing[0].as_py() == (None in inside)
        assert claims[-2] == (other == prefix if is_whole else other.startswith(prefix))


@pytest.mark.parametrize("label", ["{a|b}", "[a", "[a]", "[a|]", "\\a"])
def test_what_is_no_label_is_refused_by_both_readers(label: str) -> None:
    with pytest.raises(ValueFormError):
        read_prefixes(pa.array([label], pa.large_string()))
    with pytest.raises(GuaranteeError):
        coverage(replace(CITY, form=OutputForm.PREFIX), as_coded(["a"]), as_coded([label]))


def per_column(column: str, form: str) -> Logical:
    of = Comparison(COLUMN, Operator.EQ, (Named(IRI(f"{TARGET}/{column}")),), where=HERE)
    stated = Comparison(OUTPUT_FORM, Operator.EQ, (Text(form),), where=HERE)
    return Logical(LogicalOperator.AND, (of, stated), HERE)


def test_forms_that_columns_have_anyway_change_nothing_and_others_must_fit() -> None:
    wanted = permission(People([], 2, 1, 256, one_row_each=True)).anonymization
    assert wanted is not None
    age = replace(CITY, name="age", iri=IRI(f"{TARGET}/age"), datatype=Datatype.INTEGER)
    stated = (per_column("age", "range"), per_column("city", "set"))
    problems: list[SmaltiError] = []
    assert stated_forms(replace(wanted, parameters=stated), (age, CITY), problems) == (age, CITY)
    assert not problems
    wrong = (per_column("age", "prefix"), per_column("who", "set"))
    stated_forms(replace(wanted, parameters=wrong), (age, CITY), problems)
    assert [error.problem for error in problems] == [
        "the output form is `prefix`, which the column `age` cannot have",
        "`smalti:outputForm` is stated for a column that is not generalised",
    ]


def test_a_run_publishes_prefixes_that_the_verifier_accepts_for_every_number_of_fragments(
    tmp_path: Path,
) -> None:
    codes = ["10041", "10042", "10051", "10052", "20000", "20001", "30000", "30007", "", "{x", "{y", "3"]
    rows = [
        [str(i), "x", str(i % 5), "1990-01-31", codes[i % 12], ["flu", "gout", "cold"][i % 3], "1"]
        for i in range(60)
    ]
    table, words = People(rows, 2, 1, 3, one_row_each=True), {"outputForm": "prefix"}
    outputs = {}
    for fragments in (1, 2, 7):
        folder = tmp_path / str(fragments)
        found = make(LocalBackend(fragments), table, folder, words=words)
        assert found is not None
        original = Original(folder / "people.csv", OutputFormat.CSV)
        verify_run(found.plan, original, Output(folder / "out.csv", OutputFormat.CSV), folder / "link.npy")
        outputs[fragments] = found.bytes
        labels = {row[found.header.index("city")] for row in found.rows}
        assert any(label.endswith("*]") for label in labels)
    assert outputs[1] == outputs[2] == outputs[7]
    assert plan_from_json(plan_to_json(found.plan)) == found.plan


def test_classes_with_the_same_prefix_meet_the_promise_together_or_are_refused(tmp_path: Path) -> None:
    """In both classes with `[A4*]` some hold v, and all of them together do."""
    people = {"p1": "A42,v", "p4": "A41,v A48,w", "p3": "A41,w A47,v", "p8": "B1,x", "p9": "B2,y"}
    held = [f"{who},{row}" for who, rows in people.items() for row in rows.split()]
    (tmp_path / "policy.yaml").write_text(
        "policy: http://org/p\nowner: http://org/o\nparty: http://org/o\ntarget: http://org/t\n"
        "purpose: statistical\nmethod: k-anonymity\nk: 2\nrespondent: who\nquasi-identifiers: [zip]\n"
        "sensitive: [illness]\noutput-form: prefix\noutput: http://org/out\n"
    )

    def tried(rows: list[str]) -> smalti.Trial:
        (tmp_path / "people.csv").write_text("\n".join(["who,zip,illness", *rows, ""]))
        return smalti.try_out(tmp_path / "policy.yaml", data={"http://org/t": tmp_path / "people.csv"})

    with pytest.raises(GuaranteeError) as refused:
        tried(held)
    assert "with the same labels" in refused.value.problem
    assert "`output-form` for `zip`" in refused.value.way_out
    assert tried([row.replace("p3,A47,v", "p3,A47,x") for row in held]).tried is not None
