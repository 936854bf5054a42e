"""Pixelation as a policy asks for it: images in a column, from their bytes to the noisy table."""

import base64
import csv
import hashlib
import io
import json
import logging
import re
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
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
from smalti.engine.losses.coded_reports import ExactReports
from smalti.engine.perturbation import capability as running
from smalti.engine.perturbation import reports
from smalti.engine.perturbation.draw import draw
from smalti.engine.perturbation.guarantee import stated_guarantee
from smalti.engine.perturbation.images import (
    GREY,
    LARGEST_ROW,
    decoded,
    different,
    encoded,
    fits,
    steps_of_images,
    together_fit,
)
from smalti.engine.perturbation.mechanisms import pixelation_of
from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedCategory, PerturbedImage
from smalti.engine.perturbation.table import steps_of
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.tables.records import LONGEST_RECORD
from smalti.errors import BackendError, GuaranteeError, SmaltiError
from smalti.policy.model.model import Comparison, Number, Operator, Permission
from smalti.transforms.base import Datatype
from smalti.vocab import terms

SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())


def chunk(kind: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def with_chunk(data: bytes, kind: bytes, content: bytes) -> bytes:
    """A PNG file with one more chunk behind its header."""
    return data[:33] + chunk(kind, content) + data[33:]


def with_header(depth: int = 8, colour: int = 0, way: int = 0, size: tuple[int, int] = SIDES) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", size[1], size[0], depth, colour, 0, 0, way))


LINES = b"".join(b"\0" + line.tobytes() for line in shades(1))
"""Of the image `shades(1)`, as PNG packs them."""
END = chunk(b"IEND", b"")


def file(*chunks: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def packed(lines: bytes = LINES) -> bytes:
    return chunk(b"IDAT", zlib.compress(lines))


# --- Texts and images


@settings(max_examples=50)
@given(st.integers(0, 1 << 20), st.integers(1, 9), st.integers(1, 9))
def test_what_is_written_is_read_again(number: int, height: int, width: int) -> None:
    made = np.stack([shades(number + place, height, width) for place in range(3)])
    texts = encoded(made).to_pylist()
    assert np.array_equal(decoded(texts, height, width), made)
    first, second, third = (image.tobytes() for image in made)
    steps = steps_of_images(texts, height, width)
    assert steps is not None
    assert steps.tolist() == [
        (first < second) - (first > second), (second < third) - (second > third),
    ]  # fmt: skip


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
    "a size that no machine holds": text(file(with_header(size=(1 << 30, 1 << 30)), packed(), END)),
    "2 bits": text(file(with_header(2), packed(b"\0\x1b\xf0" * 4), END)),
    "4 bits": text(file(with_header(4), packed(b"\0\xf0\x0f\x5a" * 4), END)),
    "an unknown way of packing": text(file(with_header(way=2), packed(), END)),
    "bytes behind the end": text(GOOD + b"wombat"),
    "an end that holds something": text(GOOD[:-12] + chunk(b"IEND", b"wombat")),
    "no end": text(GOOD[:-12]),
    "two headers": text(with_chunk(GOOD, b"IHDR", GOOD[16:29])),
    "another chunk first": text(file(chunk(b"tEXt", b"a\0b"), GOOD[8:])),
    "an unknown critical chunk": text(with_chunk(GOOD, b"AaAa", b"")),
    "a palette beside shades": text(with_chunk(GOOD, b"PLTE", b"abc")),
    "a chunk of no name": text(with_chunk(GOOD, b"a\0\0\0", b"")),
    "another checksum of a passed chunk": text(
        GOOD[:33] + chunk(b"tEXt", b"wombat")[:-1] + b"?" + GOOD[33:]
    ),
    "too many chunks": text(file(with_header(), *[chunk(b"tEXt", b"")] * (1 << 12), packed(), END)),
    "more packed bytes than such an image can have": text(
        with_chunk(GOOD, b"IDAT", bytes(2 * 4 * 6 + (1 << 16)))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_such_image_is_grey_and_no_error(name: str) -> None:
    found = decoded([text(GOOD), NO_IMAGES[name]], *SIDES)
    assert np.array_equal(found[0], shades(1))
    assert (found[1] == GREY).all()
    assert steps_of_images([text(GOOD), NO_IMAGES[name]], *SIDES) is None


def test_base64_has_one_form() -> None:
    """The last character before the padding has bits that stand for nothing."""
    (padded,) = (
        text(with_chunk(GOOD, b"tEXt", bytes(size))) for size in range(3) if (len(GOOD) + size) % 3 == 1
    )
    assert padded.endswith("==")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = padded[:-3] + letters[letters.index(padded[-3]) + 1] + "=="
    assert base64.b64decode(other) == base64.b64decode(padded)
    found = decoded([padded, other], *SIDES)
    assert np.array_equal(found[0], shades(1))
    assert (found[1] == GREY).all()


BOMB = b"a\0\0" + zlib.compress(bytes(1 << 20), 9)
MORE: dict[str, bytes] = {
    "text": with_chunk(GOOD, b"tEXt", b"name\0wombat"),
    "packed text without end": with_chunk(GOOD, b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 24), 9)),
    "packed profiles": file(GOOD[8:33], *[chunk(b"iCCP", BOMB)] * 2000, GOOD[33:]),
    "moving pictures": with_chunk(GOOD, b"acTL", struct.pack(">II", 2, 0)),
    "more packed lines": file(with_header(), packed(LINES + bytes(1 << 24)), END),
    "more behind the packed lines": file(
        with_header(), chunk(b"IDAT", zlib.compress(LINES) + b"wombat"), END
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_what_a_file_holds_beside_its_image_is_passed_over_and_never_published(name: str) -> None:
    data = MORE[name]
    library = Image.open
    with patch.object(Image, "open", side_effect=library) as opened:
        found = decoded([text(data)], *SIDES)
    (call,) = opened.call_args_list
    given_kinds = re.findall(rb"IHDR|IDAT|IEND|tEXt|zTXt|iCCP|acTL", call.args[0].getvalue())
    assert given_kinds == [b"IHDR", b"IDAT", b"IEND"]
    assert np.array_equal(found[0], shades(1))
    assert steps_of_images([text(GOOD), text(data)], *SIDES) is None


def test_an_interlaced_image_is_read_and_never_published() -> None:
    tiny = np.array([[7]], np.uint8)
    data = file(with_header(way=1, size=(1, 1)), packed(b"\0\x07"), END)
    assert np.array_equal(decoded([text(data)], 1, 1)[0], tiny)
    assert steps_of_images([text(data)], 1, 1) is None
    assert steps_of_images([text(file(with_header(size=(1, 1)), packed(b"\0\x07"), END))], 1, 1) is not None


def test_a_published_image_that_is_cut_short_is_none() -> None:
    lines = zlib.compress(LINES)
    for some in (lines[:-4], lines[:-1], zlib.compress(LINES[:-1])):
        assert steps_of_images([text(file(with_header(), chunk(b"IDAT", some), END))], *SIDES) is None


def test_the_library_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Image.open(io.BytesIO(GOOD)):
        assert "IHDR" in caplog.text, "it logs where nobody keeps it from it"
    caplog.clear()
    made = np.stack([shades(1)])
    assert np.array_equal(decoded(encoded(made).to_pylist(), *SIDES), made)
    assert steps_of_images([text(GOOD)], *SIDES) is not None
    assert not caplog.records
    with Image.open(io.BytesIO(GOOD)):
        assert "IHDR" in caplog.text, "its own settings are there again"


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


KINDS = {np.uint8: 255, np.int32: 255 << 20, np.int64: 1 << 40}


@settings(max_examples=60)
@given(st.sampled_from(list(KINDS)), st.integers(0, 1 << 20), st.integers(0, 40), st.booleans())
def test_images_have_the_order_of_lists_of_numbers(kind: Any, seed: int, number: int, few: bool) -> None:
    random = np.random.default_rng(seed)
    highest = 700 if few and kind is not np.uint8 else KINDS[kind]
    some = random.integers(0, highest + 1, (number, 2, 2)).astype(kind)
    made = np.concatenate([some, some[::2], some - some % 100])
    found, numbers = different(made)
    listed = [image.ravel().tolist() for image in made]
    expected = sorted({tuple(one) for one in listed})
    assert [tuple(image.ravel().tolist()) for image in found] == expected
    assert numbers.tolist() == [expected.index(tuple(one)) for one in listed]
    assert (found.dtype, found.shape[1:], numbers.dtype) == (made.dtype, (2, 2), np.int64)


def test_different_images_take_no_more_memory_than_some_copies() -> None:
    made = np.random.default_rng(1).integers(0, 1 << 20, (2, 1 << 9, 1 << 9)).astype(np.int32)
    tracemalloc.start()
    different(made)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 6 * made.nbytes


def test_no_image_is_too_large_for_a_record() -> None:
    assert fits(1 << 10, 1 << 10)
    assert fits(1 << 12, 1 << 8)
    assert not fits(1 << 10, (1 << 10) + 1)
    assert not fits((1 << 12) + 1, 1)
    worst = encoded(np.random.default_rng(1).integers(0, 256, (1, 1 << 12, 1 << 8)).astype(np.uint8))
    assert len(worst[0].as_py()) < LONGEST_RECORD


def test_images_in_one_row_are_not_too_large_for_a_record() -> None:
    assert together_fit([])
    assert together_fit([LARGEST_ROW // 4] * 4)
    assert not together_fit([LARGEST_ROW // 4] * 4 + [1])
    assert not together_fit([1 << 12] * (1 << 10)), "lines of one pixel take two bytes"
    assert not together_fit([1] * (1 << 17))
    for sides, cells in (((1 << 12, 1), 1 << 12), ((1, 1), 1), ((1 << 10, 1 << 10), 1 << 20)):
        most = next(
            number
            for number in (1 << power for power in range(20, -1, -1))
            if together_fit([cells] * number)
        )
        one = encoded(np.random.default_rng(1).integers(0, 256, (1, *sides)).astype(np.uint8))[0].as_py()
        assert most * (len(one) + 1) < LONGEST_RECORD


def test_without_the_library_nothing_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_world(tmp_path)
    # This key alone: what is imported meanwhile must stay, for types are looked up by their modules.
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(BackendError, match="images"):
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
        (lambda: without(image_size=None), "has no public description"),
        (lambda: without(image_size=(1, 4097)), "too large"),
        (lambda: without(image_size=(1024, 1025)), "too large"),
        (lambda: without(datatype=Datatype.DATE), "has no public description"),
        (lambda: without(is_derived=True), "is marked as taken from the data"),
    ],
)
def test_what_cannot_be_is_refused(made: Callable[[], list[str]], expected: str) -> None:
    assert expected in made()[0]


def test_a_belief_is_not_bounded_by_noise_for_few_pixels() -> None:
    given = asked("note")
    wanted = given.anonymization
    assert wanted is not None
    bound = Comparison(terms.POSTERIOR_BELIEF, Operator.LTEQ, (Number(Decimal("0.75")),), where=HERE)
    given = replace(given, anonymization=replace(wanted, parameters=(bound, *wanted.parameters[1:])))
    with pytest.raises(SmaltiError, match="bounds belief or advantage of a person"):
        reported(LocalBackend(), [], given, WITH_FACE)


@pytest.mark.parametrize(("size", "neighborhood"), [(1 << 17, 1), (1, 1 << 33)])
def test_words_out_of_range_are_refused(size: int, neighborhood: int) -> None:
    with pytest.raises(SmaltiError, match="out of range"):
        planned("note", size=size, neighborhood=neighborhood)


def test_pixelation_is_not_used_where_it_is_not_allowed() -> None:
    with pytest.raises(SmaltiError, match="`pixelation`, which the policy does not allow"):
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


@pytest.mark.parametrize("limit", ["_BYTES_AT_ONCE", "_PIXELS_AT_ONCE"])
def test_few_images_are_decoded_together_and_few_bytes_of_texts(limit: str) -> None:
    long = with_chunk(GOOD, b"tEXt", bytes(3000))
    made = [
        text(long),
        text(png(shades(2))),
        "",
        "wombat",
        *(text(png(shades(place))) for place in range(9)),
    ]
    rows = [row(who=str(place), note=one) for place, one in enumerate(made)]
    _, exact = reported(LocalBackend(), rows, asked("note"), WITH_FACE)
    sizes: list[int] = []

    def seen(texts: list[str | None], height: int, width: int) -> Any:
        sizes.append(len(texts))
        if limit == "_BYTES_AT_ONCE":
            assert len(texts) == 1 or sum(len(one or "") for one in texts) <= 500
        else:
            assert len(texts) <= 50 // (height * width)
        return decoded(texts, height, width)

    with (
        patch.object(reports, limit, 500 if "BYTES" in limit else 50),
        patch.object(reports, "decoded", seen),
    ):
        _, again = reported(LocalBackend(), rows, asked("note"), WITH_FACE)
    assert len(sizes) > 4
    assert 1 < max(sizes) < len(made)
    assert exact.sums["note"].dtype == again.sums["note"].dtype == np.int32
    assert np.array_equal(exact.sums["note"], again.sums["note"])
    assert [one.tolist() for one in exact.codes] == [one.tolist() for one in again.codes]


def test_runs_show_a_loss_just_below_the_charge_and_never_above() -> None:
    """A black and a white pixel: all that an image of one pixel can be."""
    face = described("note", None, image_size=(1, 1))
    description = type(DESCRIPTION)((face,), None, True, "faces.json")
    plan, _ = reported(LocalBackend(), [], asked("note", size=1, neighborhood=1), description)
    assert plan.loss.epsilon == 2
    hits = []
    for shade in (255, 0):
        exact = ExactReports(
            (np.array([0], np.int64),),
            np.array([30_000], np.int64),
            {"note": np.array([[[shade]]], np.int32)},
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
    assert "each value is one that the stated noise can produce" in seen.check.recounted
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


def _hidden(rows: list[list[str]]) -> None:
    rows[1][1] = text(with_chunk(base64.b64decode(rows[1][1]), b"tEXt", b"name\0wombat"))


def _behind(rows: list[list[str]]) -> None:
    rows[1][1] = text(base64.b64decode(rows[1][1]) + GOOD)


NEVER = "not one that the stated noise produces"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_swap, "the order of its rows reveals"),
        *((change, NEVER) for change in (_larger, _no_image, _hidden, _behind)),
    ],
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
    forge_promise(tmp_path, lambda promised: promised["perturbed"][1].update({name: value}))
    with pytest.raises(GuaranteeError, match="loses more"):
        smalti.verify(tmp_path / "out", registry=tmp_path / "another.sqlite")


def forge_promise(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    place = folder / "out" / "certificate.jsonld"
    document = json.loads(place.read_text())
    change(document["guarantee"])
    place.write_text(json.dumps(document))


def test_a_stated_size_that_no_run_takes_is_found_before_any_image_is_read(tmp_path: Path) -> None:
    write_world(tmp_path)
    run(tmp_path, output_format="csv")

    def change(promised: dict[str, Any]) -> None:
        promised["perturbed"][1].update(height=2048, width=2048, wholeEpsilon="9999999")
        promised.update(epsilon="9999999", posteriorBelief=1, membershipAdvantage=1)

    forge_promise(tmp_path, change)
    with pytest.raises(GuaranteeError, match="too large"):
        smalti.verify(tmp_path / "out", registry=tmp_path / "another.sqlite")


def test_images_are_verified_one_at_a_time() -> None:
    """A small table can unpack to any number of pixels."""
    size = 1 << 9
    (black,) = encoded(np.zeros((1, size, size), np.uint8)).to_pylist()
    face = PerturbedImage("face", Decimal(1), Decimal(1), size, size, 1, size * size, 255.0 * size * size)
    texts = pa.chunked_array([[black] * 40, [], [black] * 24])
    tracemalloc.start()
    steps = steps_of(face, texts)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert steps is not None
    assert steps.tolist() == [0] * 63
    assert most < 16 * size * size


def test_steps_of_images_and_numbers_are_put_together(tmp_path: Path) -> None:
    """Rows that are equal in the first column are in the order of the second, over parts of the file."""
    low, high = encoded(np.array([[[1, 9]], [[2, 0]]], np.uint8)).to_pylist()
    face = PerturbedImage("face", Decimal(1), Decimal(1), 1, 2, 1, 2, 510.0)
    steps = steps_of(face, pa.chunked_array([[low], [low, high], [low]]))
    assert steps is not None
    assert steps.tolist() == [0, 1, -1]
    assert steps_of(face, pa.chunked_array([[]], pa.string())) is not None
