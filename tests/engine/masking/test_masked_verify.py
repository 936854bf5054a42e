"""The verifier refuses masked tables that are other than the plan says."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from masking_world import KEY, SECRETS, Row, mask_rows, noisy, plan_of, tampered
from stub_sampler import StubSampler

from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.masks import (
    AtLevel,
    Averaged,
    Coded,
    Mask,
    Pseudonymized,
    RareCells,
    RareRecords,
    Recoded,
)
from smalti.engine.techniques.mechanisms import Secrets
from smalti.errors import GuaranteeError

LOCAL = LocalBackend()
ROWS: list[Row] = [
    (f"p{n // 2}", str(18 + 3 * n), f"{n}.5", f"19{20 + 2 * n}-05-01", "Rome" if n < 17 else f"c{n}")
    for n in range(20)
]


def other_cell(place: int, column: int, text: str) -> Callable[[list[Row], list[int]], None]:
    def change(rows: list[Row], _: list[int]) -> None:
        assert rows[place][column] != text
        rows[place] = (*rows[place][:column], text, *rows[place][column + 1 :])

    return change


def swapped(rows: list[Row], _: list[int]) -> None:
    first, last = rows[0], rows[-1]
    assert first[0] != last[0]
    rows[0], rows[-1] = (last[0], *first[1:]), (first[0], *last[1:])


def one_lost(rows: list[Row], origins: list[int]) -> None:
    del rows[3], origins[3]


def one_twice(rows: list[Row], origins: list[int]) -> None:
    rows.append(rows[3])
    origins.append(origins[3])


TOP = Mask((Coded("age", "60", None, "top-coding"),))
SUPPRESSED = Mask((AtLevel("born", 2),), rare_records=(RareRecords("city", 3),))
TAMPERINGS = {
    "a value above the top code": (
        Mask((Coded("age", "60", None, "top-coding"),)),
        other_cell(-1, 0, "75"),
    ),
    "a code for a value below": (TOP, other_cell(0, 0, "60")),
    "another node": (Mask((AtLevel("born", 2),)), other_cell(0, 0, "1930s")),
    "another interval": (Mask((Recoded("age", Decimal(10), "0"),)), other_cell(0, 0, "20..29")),
    "a pseudonym of another": (Mask((Pseudonymized("who", "k"),)), other_cell(0, 0, "0" * 64)),
    "pseudonyms swapped": (Mask((Pseudonymized("who", "k"),)), swapped),
    "a rare value": (Mask((RareCells("city", 3),)), other_cell(0, 0, "c18")),
    "a frequent value left out": (Mask((RareCells("city", 3),)), other_cell(-1, 0, "")),
    "another mean": (Mask((Averaged("age", 3, "mean"),)), other_cell(0, 0, "[~40]")),
    "an unchanged value changed": (Mask((AtLevel("born", 1),)), other_cell(0, 1, "Roma")),
    "noise off the grid": (Mask((noisy(),)), other_cell(0, 0, "1.05")),
    "noise beyond its bounds": (Mask((noisy(),)), other_cell(0, 0, "-0.1")),
    "noise beyond its scale": (Mask((noisy(),)), other_cell(0, 0, "999.9")),
    "noise missing": (Mask((noisy(),)), other_cell(0, 0, "")),
    "a row too few": (Mask((AtLevel("born", 2),)), one_lost),
    "a row too many": (Mask((AtLevel("born", 2),)), one_twice),
    "a frequent record left out": (
        Mask((AtLevel("born", 2),), rare_records=(RareRecords("city", 3),)),
        one_lost,
    ),
    "a part of a respondent": (Mask((AtLevel("born", 1),), Decimal("0.9")), one_lost),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampered_tables_are_refused(tmp_path: Path, name: str) -> None:
    mask, change = TAMPERINGS[name]
    masked = mask_rows(LOCAL, ROWS, plan_of(mask, ["city"]), tmp_path / "run", StubSampler(5))
    masked.verified()
    with pytest.raises(GuaranteeError) as caught:
        tampered(masked, change).verified()
    assert not any(text in str(caught.value) for text in ("Rome", "Roma", "c18", "999.9"))


def test_a_rare_record_is_not_published(tmp_path: Path) -> None:
    masked = mask_rows(LOCAL, ROWS, plan_of(SUPPRESSED, ["city"]), tmp_path / "run")

    def add_rare(rows: list[Row], origins: list[int]) -> None:
        rows.append(("1950s", "c18"))
        origins.append(18)

    with pytest.raises(GuaranteeError, match="whose value is rare"):
        tampered(masked, add_rare).verified()


def test_groups_that_are_not_the_best_are_refused(tmp_path: Path) -> None:
    """Each figure is that of its group, each group has k respondents, and they could be better."""
    rows = [(f"p{n}", str(age), "1", "1950-01-01", "c") for n, age in enumerate((1, 2, 3, 10, 11, 12))]
    masked = mask_rows(LOCAL, rows, plan_of(Mask((Averaged("age", 2, "mean"),))), tmp_path / "run")
    assert {label for (label,) in masked.rows} == {"[~2]", "[~11]"}

    def others(published: list[Row], origins: list[int]) -> None:
        for place, origin in enumerate(origins):
            published[place] = ("[~2]" if origin < 2 else "[~6]" if origin < 4 else "[~12]",)

    with pytest.raises(GuaranteeError, match="least squared error"):
        tampered(masked, others).verified()


def test_other_keys_and_hierarchies_are_noticed(tmp_path: Path) -> None:
    plan = plan_of(Mask((Pseudonymized("who", "k"), AtLevel("born", 2))))
    masked = mask_rows(LOCAL, ROWS, plan, tmp_path / "run")
    with pytest.raises(GuaranteeError):
        masked.verified(replace(SECRETS, key=KEY[::-1]))
    with pytest.raises(GuaranteeError):
        masked.verified(Secrets(KEY))


def test_rows_in_another_order_are_refused(tmp_path: Path) -> None:
    masked = mask_rows(LOCAL, ROWS, plan_of(Mask((AtLevel("born", 1),))), tmp_path / "run")
    place = masked.folder / "out" / "published"
    header, *lines = place.read_text().splitlines()
    place.write_text("\n".join([header, *lines[::-1], ""]))
    np.save(masked.folder / "link.npy", np.array(masked.origins[::-1], np.int64))
    with pytest.raises(GuaranteeError, match="order"):
        masked.verified()


def test_the_key_is_in_no_representation() -> None:
    assert KEY.decode() not in repr(SECRETS)
    assert KEY.decode() not in json.dumps(str(SECRETS))
