"""A query of a release as typed values."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final
from urllib.parse import unquote

from smalti.engine.losses.allowed import LOSSES, equivalent_bound, is_in_range
from smalti.engine.releases.plan import StatisticKind
from smalti.engine.releases.words_of_loss import words_offered
from smalti.policy.decide.decision import Fact
from smalti.policy.findings.findings import quoted
from smalti.policy.model.column_iris import column_iri, normalised_column
from smalti.policy.model.iris import iri_problem, respelled
from smalti.policy.model.model import Named, Number, Policy, Text
from smalti.vocab import terms
from smalti.vocab.terms import IRI

DEFAULT_CONFIDENCE: Final = Decimal("0.95")
LEAST_CONFIDENCE: Final = Decimal("0.01")
MOST_CONFIDENCE: Final = Decimal("0.999999")
"""Margins of noise are computed for confidences up to here."""
_WITH_DOMAIN: Final = (StatisticKind.HISTOGRAM, StatisticKind.CONTINGENCY, StatisticKind.MODE)


@dataclass(frozen=True, slots=True)
class WantedKey:
    """A column to group by, or to count the values of."""

    column: str
    """A column's name, or its IRI."""
    values: tuple[str, ...] = ()
    """Public keys; none: the description's, or those that the data has."""
    edges: tuple[str, ...] = ()
    """Public ends of bins."""


@dataclass(frozen=True, slots=True)
class WantedStatistic:
    """One requested statistic."""

    name: str
    kind: StatisticKind
    measures: tuple[WantedKey, ...]
    """What it is computed on: none for a count, one or more for a contingency table, otherwise one."""
    group_by: tuple[WantedKey, ...]
    share: Decimal
    """Of the loss, in proportion to the others."""
    lower: Decimal | None = None
    upper: Decimal | None = None
    unit: Decimal | None = None
    """Public bounds and unit of the measure; None: the description's."""
    levels: tuple[Decimal, ...] = ()
    """Of quantiles."""
    candidates: tuple[Decimal, ...] = ()
    """Public candidates of quantiles; none: a grid over the bounds."""


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query file."""

    statistics: tuple[WantedStatistic, ...]
    """At least one, with different names."""
    confidence: Decimal
    epsilon: Decimal | None = None
    delta: Decimal | None = None
    belief: Decimal | None = None
    advantage: Decimal | None = None
    """What is asked to be lost; None: the policy's bound."""
    name: str = ""
    """Of the file, for messages."""

    def facts(self, target: IRI) -> tuple[Fact, ...]:
        return facts(self, target)

    def stands_for(self, policy: Policy, target: IRI, rule: IRI | None) -> tuple[str, ...]:
        return stands_for(self, words_offered(policy, target, rule))


@dataclass(frozen=True, slots=True)
class QueryFault:
    """A problem of a query that its schema cannot express."""

    statistic: int
    """Its number, from 0."""
    problem: str
    expected: str
    way_out: str = ""


def asked_loss(query: Query) -> dict[IRI, Decimal]:
    """The requested loss by word: one of `LOSSES`, or none; several contradict each other."""
    numbers = (query.epsilon, query.belief, query.advantage)
    return {word: number for word, number in zip(LOSSES, numbers, strict=True) if number is not None}


def facts(query: Query, target: IRI) -> tuple[Fact, ...]:
    """The facts of a query by the operands of refinements, for the decision.

    What a query leaves to the policy is not asked for. A count needs no measure. A loss is the same in each
    of its words (`equivalent_bound`): a permission is compared in its own word, which the plan keeps, too.

    Args:
        query: as it was read.
        target: that it is about; bare names stand for its columns, as in policies.
    """
    kinds = sorted({str(statistic.kind) for statistic in query.statistics})
    asked = [
        replace(
            _number(word, value), same=tuple(_number(*loss) for loss in _in_others(word, value).items())
        )
        for word, value in asked_loss(query).items()
    ]
    asked += [] if query.delta is None else [_number(terms.DELTA, query.delta)]
    asked += [Fact(terms.STATISTIC, tuple(map(Text, kinds)))] if kinds else []
    columns = {
        terms.MEASURE: [key for statistic in query.statistics for key in statistic.measures],
        terms.GROUP_BY: [key for statistic in query.statistics for key in statistic.group_by],
    }
    for operand, keys in columns.items():
        iris = sorted({asked_column(key.column, target) for key in keys})
        if iris:
            asked.append(Fact(operand, tuple(map(Named, iris))))
    return tuple(asked)


def _number(operand: IRI, value: Decimal) -> Fact:
    return Fact(operand, (Number(value),))


def stands_for(query: Query, words: Collection[IRI]) -> tuple[str, ...]:
    """A sentence for each requested loss that the policy bounds in another word.

    Args:
        query: as for `facts`.
        words: in which the permissions that may grant it bound the loss.
    """
    return tuple(
        f"the query requests {_worded(word, value)}, which corresponds to {_worded(other, there)} in the"
        " policy; request less, or leave it out to use what the policy allows"
        for word, value in asked_loss(query).items()
        for other, there in _in_others(word, value).items()
        if other in words
    )


def _worded(word: IRI, value: Decimal) -> str:
    return f"`{word.removeprefix(terms.SMALTI)}` {format(value, 'f')}"


def _in_others(asked: IRI, value: Decimal) -> dict[IRI, Decimal]:
    """A loss in the other words; in none where it is out of range."""
    if not is_in_range(asked, value):
        return {}
    return {word: equivalent_bound(word, asked, value) for word in LOSSES if word != asked}


def asked_column(word: str, target: IRI) -> IRI:
    """The IRI of a column that a query names: by its IRI, or by its bare name under the target.

    >>> asked_column("ZIP code", IRI("http://example.com/Customer"))
    'http://example.com/Customer/ZIP%20code'
    """
    return normalised_column(IRI(word) if ":" in word else column_iri(target, word))


def default_name(
    kind: StatisticKind, measures: tuple[WantedKey, ...], group_by: tuple[WantedKey, ...]
) -> str:
    """The default name of a statistic.

    >>> default_name(StatisticKind.MEAN, (WantedKey("age"),), (WantedKey("http://x.org/T/sex"),))
    'mean of age by sex'
    """
    what = f" of {_listed(measures)}" if measures else ""
    return str(kind) + what + (f" by {_listed(group_by)}" if group_by else "")


def _listed(keys: tuple[WantedKey, ...]) -> str:
    return " and ".join(_short(key.column) for key in keys)


def _short(word: str) -> str:
    if ":" not in word:
        return word
    return unquote(word.rstrip("/#").rpartition("#")[2].rpartition("/")[2]) or word


def faults(statistics: tuple[tuple[int, WantedStatistic], ...]) -> Iterator[QueryFault]:
    """The problems of statistics by themselves, whatever the data and the policy are.

    Args:
        statistics: each with its number in the query.
    """
    named: dict[str, int] = {}
    for number, statistic in statistics:
        if named.setdefault(statistic.name, number) != number:
            yield QueryFault(
                number, f"the name {quoted(statistic.name)} is used twice", "a different name for each"
            )
        if not statistic.name.isprintable() or not statistic.name.strip():
            yield QueryFault(number, "the name is blank, or has non-printable characters", "printable text")
        for problem, expected, way_out in _faults_of(statistic):
            yield QueryFault(number, problem, expected, way_out)


def _faults_of(statistic: WantedStatistic) -> Iterator[tuple[str, str, str]]:
    keys = (*statistic.group_by, *statistic.measures)
    for word in dict.fromkeys(key.column for key in keys):
        if not word.strip() or (":" in word and (why := iri_problem(respelled(word)))):
            problem = "is blank" if not word.strip() else why
            yield f"the column {quoted(word)} {problem}", "a column's name, or its IRI", _write_iri(word)
    twice = [word for word, times in Counter(key.column for key in statistic.group_by).items() if times > 1]
    twice += [
        word for word, times in Counter(key.column for key in statistic.measures).items() if times > 1
    ]
    for word in twice:
        yield f"the column {quoted(word)} is listed twice", "each column once", "remove one of the two"
    numbers = (
        statistic.share,
        statistic.lower,
        statistic.upper,
        statistic.unit,
        *statistic.levels,
        *statistic.candidates,
    )
    if not all(number is None or number.is_finite() for number in numbers):
        yield "a number is not finite", "finite numbers", ""
        return
    yield from _misshapen(statistic)
    if statistic.lower is not None and statistic.upper is not None and statistic.lower >= statistic.upper:
        yield "`lower` is not below `upper`", "two numbers in order", "correct them"
    lists = {"levels": statistic.levels, "candidates": statistic.candidates}
    lists |= {f"values of {quoted(key.column)}": key.values for key in keys}  # type: ignore[misc]
    for what, values in lists.items():
        if len(set(values)) < len(values):
            yield f"an entry of the {what} is listed twice", "each once", "remove one of the two"


def _misshapen(statistic: WantedStatistic) -> Iterator[tuple[str, str, str]]:
    """The problems that the schema of query files excludes."""
    least = 0 if statistic.kind is StatisticKind.COUNT else 1
    most = len(statistic.measures) if statistic.kind is StatisticKind.CONTINGENCY else least
    if not least <= len(statistic.measures) <= most:
        yield (
            f"it has {len(statistic.measures)} measures",
            "none for a count, several for a contingency table, otherwise one",
            "",
        )
    is_choice = statistic.kind is StatisticKind.QUANTILE
    if is_choice is not bool(statistic.levels) or not all(0 < level < 1 for level in statistic.levels):
        yield (
            "it has other levels than its kind requires",
            "numbers between 0 and 1 for a quantile, else none",
            "",
        )
    if statistic.share <= 0 or (statistic.unit is not None and statistic.unit <= 0):
        yield "its share or its unit is not above 0", "numbers above 0", ""
    if statistic.kind not in _WITH_DOMAIN and any(key.values or key.edges for key in statistic.measures):
        yield (
            "its measure has values or edges",
            "these for a histogram, a contingency table or a mode only",
            "",
        )


def _write_iri(word: str) -> str:
    return "write the column's IRI: a name with a colon is read as an IRI" if ":" in word else ""
