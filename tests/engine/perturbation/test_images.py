"""Pixelation as a policy asks for it: images in a column, from their bytes to the noisy table."""

import base64
import csv
import hashlib
import io
import json
import struct
import zlib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest
from evidence import loss_shown
from hypothesis import given, settings
from hypothesis import strategies as st
from image_worlds import SIDES, charged, png, run, shades, text, write_world
from jsonschema import Draft202012Validator
from perturbed_worlds import DESCRIPTION, HERE, described, permission, reported, row
from PIL import Image
from pyld import jsonld
from stub_sampler import StubSampler

import smalti
from smalti.engine.backends.local import LocalBackend
from smalti.engine.perturbation import run as running
from smalti.engine.perturbation.draw import draw
from smalti.engine.perturbation.guarantee import stated_guarantee
from smalti.engine.perturbation.images import GREY, decoded, decoded_exactly, different, encoded
from smalti.engine.perturbation.mechanisms import pixelation_of
from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedCategory, PerturbedImage
from smalti.engine.perturbation.reports import ExactReports
from smalti.engine.serialize import plan_digest, plan_from_json, plan_to_json
from smalti.errors import BackendError, GuaranteeError, SmaltiError
from smalti.policy.model import Comparison, Number, Operator, Permission
from smalti.transforms.base import Datatype
from smalti.vocab import terms

SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())


def with_chunk(data: bytes, kind: bytes, content: bytes) -> bytes:
    """A PNG file with one more chunk behind its header."""
    chunk = struct.pack(">I", len(content)) + kind + content
    return data[:33] + chunk + struct.pack(">I", zlib.crc32(kind + content)) + data[33:]


# --- Texts and images


@settings(max_examples=50)
@given(st.integers(0, 1 << 20), st.integers(1, 9), st.integers(1, 9))
def test_what_is_written_is_read_again(number: int, height: int, width: int) -> None:
    made = np.stack([shades(number + place, height, width) for place in range(3)])
    texts = encoded(made).to_pylist()
    assert np.array_equal(decoded(texts, height, width), made)
    read = decoded_exactly(texts, height, width)
    assert read is not None
    assert np.array_equal(read, made)


GOOD = png(shades(1))
NO_IMAGES: dict[str, str | None] = {
    "missing": None,
    "empty": "",
    "no base64": "wombat!",
    "no image": text(b"wombat"),
    "a byte more in base64": text(GOOD) + "A",
    "cut short": text(GOOD[:50]),
    "header only": text(GOOD[:33]),
    "another checksum": text(GOOD[:60] + bytes([GOOD[60] ^ 255]) + GOOD[61:]),
    "another size": text(png(shades(1, 6, 4))),
    "larger": text(png(shades(1, 400, 600))),
    "colour": text(png(np.zeros((*SIDES, 3), np.uint8))),
    "palette": text(png(shades(1), "P")),
    "one bit": text(png(shades(1), "1")),
    "16 bits": text(png(np.zeros(SIDES, np.uint16))),
    "with alpha": text(png(shades(1), "LA")),
    "with a transparent shade": text(png(shades(1), transparency=7)),
    "another format": text(png(shades(1), format="BMP")),
    "packed text without end": text(
        with_chunk(GOOD, b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 27), 9))
    ),
    "a size that no machine holds": text(
        GOOD[:16] + struct.pack(">II", 1 << 30, 1 << 30) + GOOD[24:29]
        + struct.pack(">I", zlib.crc32(GOOD[12:16] + struct.pack(">II", 1 << 30, 1 << 30) + GOOD[24:29]))
        + GOOD[33:]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_such_image_is_grey_and_no_error(name: str) -> None:
    found = decoded([text(GOOD), NO_IMAGES[name]], *SIDES)
    assert np.array_equal(found[0], shades(1))
    assert (found[1] == GREY).all()
    assert decoded_exactly([text(GOOD), NO_IMAGES[name]], *SIDES) is None


@settings(max_examples=200)
@given(st.binary(max_size=200) | st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)))
def test_no_bytes_are_an_error(noise: bytes | tuple[int, int]) -> None:
    if isinstance(noise, tuple):
        place, value = noise
        noise = GOOD[:place] + bytes([value]) + GOOD[place + 1 :]
    assert decoded([text(noise)], *SIDES).shape == (1, *SIDES)


def test_different_images_are_numbered_in_the_order_of_their_pixels() -> None:
    made = np.array([[[3, 1]], [[0, 9]], [[3, 1]], [[0, 2]]], np.uint8)
    found, numbers = different(made)
    assert found.tolist() == [[[0, 2]], [[0, 9]], [[3, 1]]]
    assert numbers.tolist() == [2, 1, 2, 0]
    assert different(made[:0])[0].shape == (0, 1, 2)


def test_without_the_library_nothing_is_charged(tmp_path: Path) -> None:
    write_world(tmp_path)
    with patch.dict("sys.modules", {"PIL": None}), pytest.raises(BackendError, match="images"):
        run(tmp_path)
    assert not charged(tmp_path).charges


# --- Plans

FACE = described("note", None, image_size=(SIDES[1], SIDES[0]))
WITH_FACE = type(DESCRIPTION)(
    tuple(FACE if one.name == "note" else one for one in DESCRIPTION.columns), "who", source="faces.json"
)


def pixels(size: int = 2, neighborhood: int = 3) -> tuple[Comparison, ...]:
    return tuple(
        Comparison(operand, Operator.GTEQ, (Number(Decimal(number)),), where=HERE)
        for operand, number in ((terms.PIXEL_SIZE, size), (terms.PIXEL_NEIGHBORHOOD, neighborhood))
    )


def asked(*columns: str, epsilon: str = "2", size: int = 2, neighborhood: int = 3) -> Permission:
    mechanisms = ("pixelation", "randomized-response", "laplace")
    return permission(*columns, epsilon=epsilon, mechanisms=mechanisms, more=pixels(size, neighborhood))


def planned(*columns: str, **others: Any) -> PerturbationPlan:
    return reported(LocalBackend(), [], asked(*columns, **others), WITH_FACE)[0]


def test_the_noise_is_that_of_the_share_and_the_charge_that_of_whole_images() -> None:
    plan = planned("sex", "note")
    sex, face = plan.perturbed
    assert isinstance(sex, PerturbedCategory)
    assert isinstance(face, PerturbedImage)
    assert (face.height, face.width, face.cell, face.neighborhood) == (*SIDES, 2, 3)
    assert face.epsilon == sex.epsilon == 1
    assert face.scale == 255 * 3
    assert face.whole_epsilon == 24 / 3
    assert plan.loss.epsilon == 1 + 8
    assert Fraction(plan.loss.pure) <= 9
    assert plan.loss.belief == pytest.approx(1 / (1 + np.exp(-9)), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.decimals("0.001", 9, places=3).filter(bool), st.integers(1, 40), st.integers(1, 9), st.booleans())
def test_what_is_charged_covers_any_two_images(
    epsilon: Decimal, neighborhood: int, size: int, beside: bool
) -> None:
    columns = ("sex", "note") if beside else ("note",)
    plan = planned(*columns, epsilon=str(epsilon), neighborhood=neighborhood, size=size)
    face = plan.perturbed[-1]
    assert isinstance(face, PerturbedImage)
    how = pixelation_of(face)
    share = Fraction(face.epsilon)
    assert share * (1 - Fraction(1, 10**9)) < how.epsilon <= share <= Fraction(epsilon) / len(columns)
    whole = Fraction(face.whole_epsilon)
    assert how.whole_epsilon <= whole < how.whole_epsilon * (1 + Fraction(1, 10**9))
    rest = Fraction(epsilon) - share
    assert Fraction(plan.loss.pure) <= Fraction(plan.loss.epsilon)
    assert rest + whole <= Fraction(plan.loss.epsilon) <= (rest + whole) * (1 + Fraction(1, 10**9))


def test_plans_of_images_are_read_again() -> None:
    plan = planned("sex", "note", "age")
    again = plan_from_json(plan_to_json(plan))
    assert again == plan
    assert plan_digest(again) == plan_digest(plan)
    assert plan_digest(planned("sex", "note", "age", size=3)) != plan_digest(plan)


def without(**changes: Any) -> list[str]:
    face = described("note", changes.pop("datatype", None), **{"image_size": (6, 4), **changes})
    description = type(DESCRIPTION)((face,), None, True, "faces.json")
    with pytest.raises(SmaltiError) as caught:
        reported(LocalBackend(), [row(note="wombat")], asked("note"), description)
    assert "wombat" not in str(caught.value)
    return [str(caught.value)]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: without(image_size=None), "nothing public is said"),
        (lambda: without(image_size=(4096, 4097)), "too large"),
        (lambda: without(datatype=Datatype.DATE), "nothing public is said"),
        (lambda: without(is_derived=True), "was taken from the data"),
    ],
)
def test_what_cannot_be_is_refused(made: Callable[[], list[str]], expected: str) -> None:
    assert expected in made()[0]


@pytest.mark.parametrize(("size", "neighborhood"), [(1 << 17, 1), (1, 1 << 33)])
def test_words_out_of_range_are_refused(size: int, neighborhood: int) -> None:
    with pytest.raises(SmaltiError, match="out of range"):
        planned("note", size=size, neighborhood=neighborhood)


def test_pixelation_is_not_used_where_it_is_not_allowed() -> None:
    with pytest.raises(SmaltiError, match="could use"):
        reported(LocalBackend(), [], permission("note"), WITH_FACE)


# --- Reports and noise


def test_each_respondent_reports_the_sums_of_one_image() -> None:
    rows = [
        row(who="1", note=text(png(shades(1)))),
        row(who="1", note=text(png(shades(2)))),
        row(who="2", note="wombat"),
        row(who="3"),
        row(who="4", note=text(png(shades(1), compress_level=0))),
        row(who="5", note=text(png(np.full(SIDES, GREY, np.uint8)))),
    ]
    plan, exact = reported(LocalBackend(), rows, asked("note"), WITH_FACE)
    (face,) = plan.perturbed
    assert isinstance(face, PerturbedImage)
    sums = pixelation_of(face).sums(np.stack([np.full(SIDES, GREY, np.uint8), shades(1)]))
    reports = exact.sums["note"][np.repeat(exact.codes[0], exact.respondents)].tolist()
    assert sorted(reports) == sorted([sums[0].tolist()] * 3 + [sums[1].tolist()] * 2)


def test_runs_show_a_loss_just_below_the_charge_and_never_above() -> None:
    """A black and a white pixel: all that an image of one pixel can be."""
    face = described("note", None, image_size=(1, 1))
    description = type(DESCRIPTION)((face,), None, True, "faces.json")
    plan, _ = reported(LocalBackend(), [], asked("note", size=1, neighborhood=1), description)
    assert plan.loss.epsilon == 2
    hits = []
    for shade in (255, 0):
        exact = ExactReports(
            (np.array([0], np.int64),), np.array([30_000], np.int64), {"note": np.array([[[shade]]])}
        )
        (noisy,) = draw(plan, exact)
        hits.append(int((noisy == 255).sum()))
    assert 1.6 <= loss_shown(hits[0], hits[1], 30_000) <= 2


# --- Whole runs


@pytest.mark.parametrize("output_format", ["csv", "parquet"])
def test_a_run_publishes_small_noisy_images(tmp_path: Path, output_format: str) -> None:
    write_world(tmp_path)
    outcome = run(tmp_path, output_format=output_format)
    assert outcome.version is not None
    assert charged(tmp_path).spent.epsilon == 1 + 8
    if output_format == "csv":
        with (tmp_path / "out" / "noisy.csv").open() as file:
            header, *rows = csv.reader(file)
    else:
        found = pq.read_table(tmp_path / "out" / "noisy.parquet")
        header = found.column_names
        rows = [[sex or "", face] for sex, face in zip(*found.to_pydict().values(), strict=True)]
    assert header == ["sex", "face"]
    faces = [np.asarray(Image.open(io.BytesIO(base64.b64decode(face)))) for _, face in rows]
    assert {(face.shape, face.dtype) for face in faces} == {((2, 3), np.dtype(np.uint8))}
    told = [(["", "f", "m"].index(sex), face.tobytes()) for (sex, _), face in zip(rows, faces, strict=True)]
    assert told == sorted(told)
    assert len(rows) == 20
    seen = smalti.verify(tmp_path / "out", registry=tmp_path / "registry.sqlite")
    assert "each value is one that the stated noise gives" in seen.check.recounted
    assert [one.column for one in smalti.estimate(tmp_path / "out")] == ["sex"]


@pytest.mark.parametrize("kind", ["parquet", "dictionary"])
def test_bytes_in_parquet_are_the_same_images_as_base64(tmp_path: Path, kind: str) -> None:
    found = []
    for name in ("csv", kind):
        folder = tmp_path / name
        folder.mkdir()
        write_world(folder, kind=name)
        with patch.object(running, "SAMPLER", StubSampler(3)):
            outcome = run(folder, output_format="csv")
        assert isinstance(outcome.plan, PerturbationPlan)
        found.append((plan_digest(outcome.plan), (folder / "out" / "noisy.csv").read_bytes()))
    assert found[0] == found[1]


def test_a_budget_below_what_whole_images_lose_is_refused(tmp_path: Path) -> None:
    write_world(tmp_path, budget=8.9)
    outcome = run(tmp_path)
    assert not outcome.decision.is_permitted
    assert not charged(tmp_path).charges
    assert not (tmp_path / "out").exists()


def test_the_certificate_states_both_losses(tmp_path: Path) -> None:
    write_world(tmp_path)
    outcome = run(tmp_path)
    document = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    Draft202012Validator(SCHEMA).validate(document)
    promised = document["guarantee"]
    assert promised["epsilon"] == "9"
    face = promised["perturbed"][1]
    assert face == {
        "name": "face", "mechanism": "pixelation", "epsilon": "1", "wholeEpsilon": "8", "height": 4,
        "width": 6, "pixelSize": 2, "pixelNeighborhood": 3, "scale": 765.0,
    }  # fmt: skip
    assert isinstance(outcome.plan, PerturbationPlan)
    assert stated_guarantee(promised).perturbed == outcome.plan.perturbed
    assert "at most 3 pixels would change it by a factor of at most e^1;" in promised["statement"]
    again = jsonld.compact(jsonld.expand(document), document["@context"])
    assert again["guarantee"]["perturbed"][1] == face


def forged(folder: Path, change: Callable[[list[list[str]]], None]) -> None:
    """Change rows of an output that no registry knows, with a certificate about the new bytes."""
    place = folder / "out" / "noisy.csv"
    with place.open() as file:
        rows = list(csv.reader(file))
    change(rows)
    with place.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    certificate = folder / "out" / "certificate.jsonld"
    document = json.loads(certificate.read_text())
    (published,) = document["distribution"]
    published["byteSize"] = place.stat().st_size
    published["checksum"]["checksumValue"] = hashlib.sha256(place.read_bytes()).hexdigest()
    certificate.write_text(json.dumps(document))


def _swap(rows: list[list[str]]) -> None:
    rows[1:] = rows[:0:-1]


def _larger(rows: list[list[str]]) -> None:
    rows[1][1] = text(png(shades(1)))


def _no_image(rows: list[list[str]]) -> None:
    rows[1][1] = "wombat"


@pytest.mark.parametrize(
    ("change", "expected"),
    [(_swap, "by their order"), (_larger, "none that the stated noise"), (_no_image, "none that the")],
)
def test_the_check_of_an_output_finds(
    tmp_path: Path, change: Callable[[list[list[str]]], None], expected: str
) -> None:
    write_world(tmp_path)
    run(tmp_path, output_format="csv")
    forged(tmp_path, change)
    with pytest.raises(GuaranteeError, match=expected):
        smalti.verify(tmp_path / "out", registry=tmp_path / "another.sqlite")


@pytest.mark.parametrize(("name", "value"), [("scale", 382.5), ("epsilon", "0.9"), ("wholeEpsilon", "7.9")])
def test_less_noise_than_is_stated_of_images_is_found(tmp_path: Path, name: str, value: Any) -> None:
    write_world(tmp_path)
    run(tmp_path, output_format="csv")
    place = tmp_path / "out" / "certificate.jsonld"
    document = json.loads(place.read_text())
    document["guarantee"]["perturbed"][1][name] = value
    place.write_text(json.dumps(document))
    with pytest.raises(GuaranteeError, match="loses more"):
        smalti.verify(tmp_path / "out", registry=tmp_path / "another.sqlite")
