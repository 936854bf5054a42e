"""The one release that a policy permits, where nobody says what is asked."""

from decimal import Decimal

from smalti.engine.releases.plan import StatisticKind
from smalti.engine.releases.query import DEFAULT_CONFIDENCE, Query, WantedKey, WantedStatistic
from smalti.engine.releases.terms import read_terms
from smalti.errors import PlanError
from smalti.policy.model.model import Anonymization

_MEDIAN = Decimal("0.5")


def only_release(wanted: Anonymization) -> Query:
    """What a permission amounts to without a query: one statistic of one column, without groups.

    Raises:
        PlanError: it permits several releases, or none.
    """
    nothing = Query((), DEFAULT_CONFIDENCE)
    terms = read_terms(wanted, nothing)
    kinds, measures = sorted(terms.statistics), tuple(WantedKey(iri) for iri in sorted(terms.measures))
    if len(kinds) == 1 and not terms.group_by:
        kind = kinds[0]
        least, most = (0, 0) if kind is StatisticKind.COUNT else (1, 1)
        if kind is StatisticKind.CONTINGENCY:
            least, most = 2, len(measures)
        if least <= len(measures) <= most:
            levels = (_MEDIAN,) if kind is StatisticKind.QUANTILE else ()
            one = WantedStatistic(str(kind), kind, measures, (), Decimal(1), levels=levels)
            return Query((one,), DEFAULT_CONFIDENCE, name="the policy's one release")
    raise PlanError(
        str(wanted.where),
        "the policy permits several releases, and none is asked for",
        "a query file that names the statistics wanted",
        "write one, and name it with --query",
    )
