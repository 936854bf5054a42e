"""Single techniques on texts: golden values, bounds, and the distributions of what is drawn.

Statistical tests use the operating system's generator. Each raises a false alarm with a probability below
1e-8: limits are 6.5 to 7 standard deviations of what is counted.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from smalti.transforms.base import Datatype, Figure
from smalti.transforms.masking.additive_noise import AdditiveNoise, Distribution, written
from smalti.transforms.masking.averaging import averaged
from smalti.transforms.masking.coding import are_apart, coded
from smalti.transforms.masking.pseudonyms import pseudonyms
from smalti.transforms.masking.rare import are_rare
from smalti.transforms.masking.recoding import equal_width, intervals
from smalti.transforms.masking.sampling import sampled
from smalti.transforms.problem import FigureAttribute
from smalti.transforms.values.texts import make_codebook

KEY = b"0123456789abcdef" * 2


def test_dates_and_instants_are_coded_by_value() -> None:
    days = pa.array(["1949-12-31", "1950-01-01", "2000-02-29"])
    assert coded(days, Datatype.DATE, None, "2000-01-01", "1950-01-01").to_pylist() == [
        "1950-01-01", "1950-01-01", "2000-01-01",
    ]  # fmt: skip
    times = pa.array(["2020-01-01T00:30:00+01:00", "2020-01-01T00:00:00Z"])
    assert coded(times, Datatype.DATETIME, None, "2020-01-01T00:00:00Z", None).to_pylist() == [
        "2020-01-01T00:30:00+01:00", "2020-01-01T00:00:00Z",
    ]  # fmt: skip
    assert are_apart("90", "18", Datatype.INTEGER, None)
    assert not are_apart("18.0", "18", Datatype.DECIMAL, None)


def test_intervals_are_disjoint_and_have_one_width() -> None:
    numbers = pa.array([str(n) for n in range(-30, 31)])
    labels = intervals(make_codebook(numbers, Datatype.INTEGER, None, False), Fraction(7), Fraction(-3))
    for number, label in zip(numbers.to_pylist(), labels.to_pylist(), strict=True):
        low, high = map(int, label.split(".."))
        assert low <= int(number) <= high == low + 6
        assert (low + 3) % 7 == 0
    assert equal_width(Fraction(15), Fraction(49), 7) == 5
    assert equal_width(Fraction(15), Fraction(49), 4) is None


def test_pseudonyms_are_those_of_the_standard() -> None:
    """RFC 4231, test case 2; and one pseudonym for all spellings of a number."""
    (pseudonym,) = pseudonyms(
        pa.array(["what do ya want for nothing?"]), Datatype.STRING, b"Jefe"
    ).to_pylist()
    assert pseudonym == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    for datatype, spellings in (
        (Datatype.DECIMAL, ["7", "7.0", "7.00"]),
        (Datatype.DECIMAL, ["0", "-0", "-0.0"]),
        (Datatype.DOUBLE, ["0.1", "1e-1", "0.10000000000000001"]),
        (Datatype.DOUBLE, ["1e22", "10000000000000000000000"]),
    ):
        assert len(set(pseudonyms(pa.array(spellings), datatype, KEY).to_pylist())) == 1
    several = pseudonyms(pa.array(["7", "7.0", "07", "a"]), Datatype.STRING, KEY).to_pylist()
    assert len(set(several)) == 4
    assert pseudonyms(pa.array(["7"]), Datatype.STRING, KEY[1:]).to_pylist() != several[:1]


def test_rare_values_are_counted_by_people() -> None:
    values, people, rows = np.array([0, 0, 0, 1, 1]), np.array([4, 4, 4, 4, 5]), np.array([9, 9, 9, 1, 1])
    assert are_rare(values, people, rows, 2).tolist() == [True, False]
    assert are_rare(values, None, rows, 3).tolist() == [False, True]


def test_one_column_of_the_documents_is_averaged() -> None:
    """D5.2, Figure 3.2."""
    numbers = np.array([20, 25, 30, 35, 40, 45])
    attribute = FigureAttribute(numbers, Figure.MEAN, numbers, 0, 0, False)
    texts = pa.array(numbers).cast(pa.string())
    labels = averaged(attribute, texts, np.arange(1, 7), None, np.ones(6, np.int64), 3)
    assert labels is not None
    assert labels.to_pylist() == ["[~25]"] * 3 + ["[~40]"] * 3


# --- What is drawn

DRAWS = 40_000


def noise(distribution: Distribution, **bounds: Fraction) -> AdditiveNoise:
    return AdditiveNoise(distribution, Fraction(5), Fraction(1, 10), **bounds)


def test_uniform_noise_is_uniform() -> None:
    """101 results from -50 to 50 units: chi-squared has mean 100 and deviation 14.1."""
    drawn = noise(Distribution.UNIFORM).drawn(np.zeros(DRAWS, np.int64))
    counts = np.bincount(drawn + 50, minlength=101)
    assert len(counts) == 101
    expected = DRAWS / 101
    assert ((counts - expected) ** 2 / expected).sum() < 100 + 7 * 14.2


def test_normal_noise_has_its_standard_deviation() -> None:
    """Of n squares of normal draws the mean has the relative deviation sqrt(2 / n)."""
    draws = 6000
    drawn = noise(Distribution.NORMAL).drawn(np.zeros(draws, np.int64)).astype(np.float64)
    assert abs(drawn.mean()) < 6.5 * 50 / draws**0.5
    assert abs((drawn**2).mean() / 2500 - 1) < 6.5 * (2 / draws) ** 0.5


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(999_999_999, 10**9), Fraction(1)])
def test_each_respondent_is_sampled_with_the_rate(rate: Fraction) -> None:
    count = int(sampled(DRAWS, rate).sum())
    deviation = float(DRAWS * rate * (1 - rate)) ** 0.5
    assert abs(count - float(DRAWS * rate)) <= 6.5 * deviation


def test_no_two_outputs_have_the_same_draws() -> None:
    one, other = (noise(Distribution.NORMAL).drawn(np.zeros(100, np.int64)) for _ in range(2))
    assert one.tolist() != other.tolist()
    assert sampled(100, Fraction(1, 2)).tolist() != sampled(100, Fraction(1, 2)).tolist()


def test_results_stay_between_bounds_whatever_the_number() -> None:
    kind = noise(Distribution.NORMAL, lower=Fraction(-1, 4), upper=Fraction(3))
    units = kind.in_units(["1" + "0" * 90, "-" + "9" * 90, "0.15", "0.25"])
    assert units.tolist() == [30, -2, 2, 2], "half to even"
    drawn = kind.drawn(np.repeat(units, 20))
    assert drawn.min() >= -2
    assert drawn.max() <= 30
    free = noise(Distribution.NORMAL).drawn(noise(Distribution.NORMAL).in_units(["9" * 90] * 50))
    assert set(free.tolist()) <= {1 << 60, *range((1 << 60) - 500, 1 << 60)}
    assert written([-3, 30, 0], Decimal("0.1")) == ["-0.3", "3.0", "0.0"]


@pytest.mark.parametrize(
    ("distribution", "scale", "unit", "bounds"),
    [
        (Distribution.UNIFORM, Fraction(1), Fraction(1), {"upper": Fraction(10**20)}),
        (Distribution.NORMAL, Fraction(0), Fraction(1), {}),
        (Distribution.NORMAL, Fraction(1 << 51), Fraction(1), {}),
        (Distribution.UNIFORM, Fraction(1 << 31), Fraction(1), {}),
        (
            Distribution.UNIFORM,
            Fraction(1),
            Fraction(1),
            {"lower": Fraction(1, 4), "upper": Fraction(3, 4)},
        ),
    ],
)
def test_noise_that_cannot_be_drawn_is_refused(
    distribution: Distribution, scale: Fraction, unit: Fraction, bounds: dict[str, Fraction]
) -> None:
    with pytest.raises(ValueError, match=r"noise|multiple"):
        AdditiveNoise(distribution, scale, unit, **bounds)
