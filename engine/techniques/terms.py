"""What a permission states of single techniques: the refinements of its action as typed values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from smalti.engine.binding.bound_columns import parameter_parts
from smalti.errors import PlanError, SmaltiError
from smalti.policy.decide.comparing import SATISFIED
from smalti.policy.decide.decision import Fact
from smalti.policy.decide.transformations import judged_parameters, transformation
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Anonymization, ColumnReference, Comparison, Named, Number, Text, Where
from smalti.transforms.masking.sampling import FINEST
from smalti.vocab import terms
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Said:
    """A parameter of one column."""

    number: Decimal | None
    """Where its value is a number."""
    name: str | None
    """Where it is a name."""
    comparison: Comparison

    @property
    def where(self) -> Where:
        return self.comparison.where

    @property
    def whole(self) -> int:
        """The number, where words allow whole ones alone."""
        return int(self.number or 0)


@dataclass(frozen=True, slots=True)
class MaskingTerms:
    """What a permission to mask states."""

    techniques: frozenset[str]
    """That it names."""
    of_columns: Mapping[ColumnReference, Mapping[IRI, Said]]
    """The parameters of each column, by operand."""
    distribution: str
    """Of noise, where nothing is stated for a column."""
    pseudonyms: tuple[ColumnReference, ...]
    key: str | None
    """The name of the key of pseudonyms."""
    sampling_rate: Decimal | None
    k: int | None
    """Of microaggregation."""

    def has(self, technique: str) -> bool:
        """Whether the technique is named."""
        return technique in self.techniques


def stated_terms(wanted: Anonymization, asked: list[Fact], problems: list[SmaltiError]) -> MaskingTerms:
    """What single techniques are stated with, whatever else a permission states.

    Args:
        wanted: of any method that has them.
        asked: by the run of its sample, and of nothing else.
        problems: takes a `PlanError` for what is not allowed.
    """
    problems += _not_allowed(wanted, asked)
    of_columns: dict[ColumnReference, dict[IRI, Said]] = {}
    whole: dict[IRI, Comparison] = {}
    for parameter in wanted.parameters:
        iri, stated = parameter_parts(parameter)
        if stated is None:
            continue
        if iri is None:
            whole[stated.operand] = stated
        else:
            said = of_columns.setdefault(ColumnReference(iri, stated.where), {})
            said[stated.operand] = Said(_number(stated), name_of(stated), stated)
    rates = [_number(whole.get(terms.SAMPLING_RATE)), *(_of_fact(fact) for fact in asked)]
    rate = min((each for each in rates if each is not None), default=None)
    if rate is not None and Fraction(rate) % FINEST:
        problems.append(
            PlanError(
                str(wanted.where),
                "the rate of the sample has more than 9 decimal places",
                "a rate above 0 and at most 1, with at most 9 decimal places",
                "round it",
            )
        )
    return MaskingTerms(
        frozenset(wanted.algorithms),
        of_columns,
        name_of(whole.get(terms.NOISE_DISTRIBUTION)) or "normal",
        _pseudonyms(whole.get(terms.PSEUDONYM)),
        name_of(whole.get(terms.PSEUDONYM_KEY)),
        rate,
        None if wanted.k is None else wanted.k.value,
    )


def _pseudonyms(stated: Comparison | None) -> tuple[ColumnReference, ...]:
    if stated is None:
        return ()
    iris = sorted(value.iri for value in stated.values if isinstance(value, Named))
    return tuple(ColumnReference(iri, stated.where) for iri in iris)


def _number(stated: Comparison | None) -> Decimal | None:
    numbers = () if stated is None else (v.value for v in stated.values if isinstance(v, Number))
    return next(iter(numbers), None)


def name_of(stated: Comparison | None) -> str | None:
    """The first value that is a name; None where there is none."""
    names = () if stated is None else (v.text for v in stated.values if isinstance(v, Text))
    return next(iter(names), None)


def _of_fact(fact: Fact) -> Decimal | None:
    numbers = (value.value for value in fact.values if isinstance(value, Number))
    return next(numbers, None) if fact.operand == terms.SAMPLING_RATE else None


def _not_allowed(wanted: Anonymization, asks: list[Fact]) -> Iterator[SmaltiError]:
    where, asked = str(wanted.where), {fact.operand: fact.values for fact in asks}
    if len(asked) < len(asks):
        yield PlanError(where, "the run requests a word twice", "each word once", "keep one")
    for operand in sorted(asked.keys() - {terms.SAMPLING_RATE}):
        yield PlanError(
            where,
            f"a run cannot request `{short_word(operand)}` of masking",
            "a smaller `smalti:samplingRate`, where the policy states one",
            "leave it out",
        )
    for value in asked.get(terms.SAMPLING_RATE, ()):
        if not (isinstance(value, Number) and 0 < value.value <= 1):
            yield PlanError(
                where,
                "the requested `smalti:samplingRate` is out of range",
                "a number above 0 and at most 1",
                "request a number in this range",
            )
            return
    stated = {terms.SAMPLING_RATE: asked[terms.SAMPLING_RATE]} if terms.SAMPLING_RATE in asked else {}
    for what, how in judged_parameters(transformation(wanted), stated):
        if how is not SATISFIED:
            word = what.operand if isinstance(what, Comparison) else str(what)
            yield PlanError(
                where,
                f"the permission does not allow the requested `{short_word(word)}`",
                "what its refinements allow",
                "`smalti check` shows what a policy says",
            )


def short_word(operand: str) -> str:
    """A word with its prefix."""
    return "smalti:" + operand.removeprefix(terms.SMALTI) if operand.startswith(terms.SMALTI) else operand


def columns_named(allowed: MaskingTerms) -> tuple[ColumnReference, ...]:
    """Every column that has a parameter, or pseudonyms; each once."""
    by_iri = {normalised_column(each.iri): each for each in (*allowed.of_columns, *allowed.pseudonyms)}
    return tuple(by_iri.values())
