"""The words of the profile that a policy may use: one frozen table.

`profile.ttl` and each policy are checked against this table. A word that is known but not implemented is
validated, and `run` refuses it by its name. A word that is not in the table is an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypedDict, Unpack

from smalti.vocab import attacks, techniques
from smalti.vocab.terms import ANONYMIZE, IRI, MOSAICROWN, READ, SMALTI


class Kind(StrEnum):
    ACTION = "action"
    REFINEMENT = "refinement"
    """A left operand of a refinement of an action."""
    CONSTRAINT = "constraint"
    """A left operand of a constraint of a rule."""
    PROPERTY = "property"
    METHOD = "method"
    """A value of `mosaicrown:method`."""
    ALGORITHM = "algorithm"
    """A value of `smalti:algorithm`."""
    PURPOSE = "purpose"
    VALUE = "value"
    """A named value of another word."""


class Range(StrEnum):
    """What an operand is compared with."""

    NONE = "nothing"
    NAME = "a name"
    INTEGER = "a whole number"
    DECIMAL = "a number"
    COLUMN = "a column"
    COLUMNS = "columns"
    DATASET = "a dataset"
    VALUE = "a value"
    """A number, a date or a date with time: values with an order."""
    PURPOSES = "purposes"


class Scope(StrEnum):
    """Whether a parameter is for one column, written as `odrl:and` of `smalti:column` and the parameter."""

    TABLE = "table"
    """For the whole output only."""
    EITHER = "table or column"
    """For the whole output, or for one column."""
    COLUMN = "column"
    """For one column only."""


MOST_DIGITS: Final = 300
"""That a number has before the decimal point, and behind it."""


def has_usable_size(number: Decimal) -> bool:
    """Whether a number can be computed with exactly: its powers of ten would fill the memory otherwise."""
    if not number.is_finite():
        return False
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -MOST_DIGITS and number.adjusted() < MOST_DIGITS


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers that a left operand may have; exact."""

    minimum: Decimal | None = None
    maximum: Decimal | None = None
    excludes_minimum: bool = False
    excludes_maximum: bool = False

    def allow(self, number: Decimal) -> bool:
        """Whether the number lies within the limits."""
        if self.minimum is not None and (
            number < self.minimum or (self.excludes_minimum and number == self.minimum)
        ):
            return False
        return self.maximum is None or not (
            number > self.maximum or (self.excludes_maximum and number == self.maximum)
        )

    def __str__(self) -> str:
        lower, upper = (
            "above" if self.excludes_minimum else "at least",
            ("below" if self.excludes_maximum else "at most"),
        )
        bounds = [(lower, self.minimum), (upper, self.maximum)]
        return " and ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)


@dataclass(frozen=True, slots=True)
class Word:
    """One word, as the profile defines it."""

    iri: IRI
    kind: Kind
    meaning: str
    """One sentence."""
    operators: frozenset[str] = frozenset()
    """Local names of the ODRL operators that are allowed with it."""
    range: Range = Range.NONE
    limits: Limits = Limits()
    names: tuple[str, ...] = ()
    """The names allowed, where the range is `NAME` and closed."""
    form: str = ""
    """A regular expression for the whole of a name, where the range is `NAME` and open; empty: any line."""
    implemented: bool = False
    """Whether `run` implements it."""
    later: frozenset[str] = frozenset()
    """Of an implemented word, the names that `run` does not implement yet."""
    actions: frozenset[IRI] = frozenset()
    """The actions that it refines; empty for words that are not refinements."""
    methods: frozenset[str] = frozenset()
    """The methods of anonymization that allow it; empty: any."""
    algorithms: frozenset[str] = frozenset()
    """The algorithms that allow it; empty: any."""
    scope: Scope = Scope.TABLE
    needs: frozenset[IRI] = frozenset()
    """Other refinements that it requires."""

    @property
    def minimum(self) -> int | None:
        """The smallest whole number allowed, where the range is whole numbers and there is one."""
        least = self.limits.minimum
        return int(least) if self.range is Range.INTEGER and least is not None else None

    @property
    def status(self) -> str:
        """What of it `run` does not implement yet, in words; empty: nothing."""
        if not self.implemented:
            return "not run yet"
        later = ", ".join(f"`{name}`" for name in self.names if name in self.later)
        return f"{later} not run yet" if later else ""

    @property
    def name(self) -> str:
        """The local name: what follows the namespace."""
        return self.iri.rpartition("#")[2].rpartition("/")[2]


METHODS: Final = (
    "k-anonymity",
    "l-diversity",
    "t-closeness",
    "k-map",
    "delta-presence",
    "differential-privacy",
    "local-differential-privacy",
    "masking",
)
ALGORITHMS: Final = (
    "mondrian",
    "incognito",
    "mdav",
    "anatomy",
    "sampling",
    "cell-suppression",
    "attribute-suppression",
    "record-suppression",
    "generalization",
    "global-recoding",
    "top-coding",
    "bottom-coding",
    "noise-addition",
    "pseudonymization",
)

_CLASSES = frozenset({"k-anonymity", "l-diversity", "t-closeness", "k-map", "delta-presence"})
"""The methods that form classes of generalised rows."""
_DISTANCES = frozenset({"k-anonymity", "l-diversity", "t-closeness"})
"""The methods of which microaggregation makes the classes."""
_MASKING = frozenset({"masking"})
_ANY_MASKING = _MASKING | techniques.MODELS_BESIDE
"""The methods with single techniques, alone or beside classes."""
_DP = frozenset({"differential-privacy"})
_ANY_DP = frozenset({"differential-privacy", "local-differential-privacy"})
_LOCAL_DP = frozenset({"local-differential-privacy"})

ALGORITHM_METHODS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "mondrian": _CLASSES,
    "incognito": _CLASSES,
    "mdav": _DISTANCES | _MASKING,
    "anatomy": frozenset({"l-diversity"}),
    **dict.fromkeys(ALGORITHMS[ALGORITHMS.index("sampling"):], _MASKING),
})  # fmt: skip
"""The methods that each algorithm can meet; the single techniques promise no model, so they are masking."""

ATTACKS: Final = tuple(attack.name for attack in attacks.TABLE)
"""The attacks that an audit may try."""

OF_ONE_COLUMN: Final[Mapping[IRI, frozenset[str]]] = MappingProxyType({
    IRI(SMALTI + "distance"): frozenset({"k-anonymity", "l-diversity", "masking"}),
})  # fmt: skip
"""The words that may be for the whole output, and are for one column only by these methods."""

PURE_MECHANISMS: Final = frozenset({"laplace", "exponential", "randomized-response", "pixelation"})
"""The mechanisms whose loss never exceeds epsilon, so that they have no delta."""

_EQ = frozenset({"eq"})
_AT_LEAST = frozenset({"eq", "gteq"})
_AT_MOST = frozenset({"eq", "lteq"})
_ONLY_AT_MOST = frozenset({"lteq"})
_ALL = frozenset({"isAllOf"})
_ANY = frozenset({"isAnyOf"})
_CHOICE = frozenset({"eq", "isAnyOf"})
_PURPOSE_OPERATORS = frozenset({"eq", "neq", "isA", "isPartOf", "isAnyOf", "isNoneOf", "isAllOf"})

_SHORT_NAME = "[A-Za-z][A-Za-z0-9._-]{0,63}"
"""Never a path, an address or code."""

_ANONYMIZE_ONLY = frozenset({IRI(ANONYMIZE)})
_TRAIN = frozenset({IRI(SMALTI + "train")})
_AUDIT_ONLY = frozenset({IRI(SMALTI + "audit")})

_POSITIVE = Limits(Decimal(0), excludes_minimum=True)
_SHARE = Limits(Decimal(0), Decimal(1))
_INNER_SHARE = Limits(Decimal(0), Decimal(1), excludes_minimum=True, excludes_maximum=True)
_ABOVE_A_GUESS = Limits(Decimal("0.5"), Decimal(1), excludes_minimum=True, excludes_maximum=True)
"""For a figure that is one half for a guess, and 1 for a perfect attack."""
_SHARE_BELOW_ONE = Limits(Decimal(0), Decimal(1), excludes_maximum=True)
_SHARE_ABOVE_ZERO = Limits(Decimal(0), Decimal(1), excludes_minimum=True)
_TWO_OR_MORE = Limits(Decimal(2))
_ONE_OR_MORE = Limits(Decimal(1))
_NOT_NEGATIVE = Limits(Decimal(0))


class _Details(TypedDict, total=False):
    limits: Limits
    names: tuple[str, ...]
    form: str
    implemented: bool
    later: frozenset[str]
    actions: frozenset[IRI]
    methods: frozenset[str]
    algorithms: frozenset[str]
    scope: Scope
    needs: frozenset[IRI]


def _action(iri: str, meaning: str, implemented: bool = False) -> Word:
    return Word(IRI(iri), Kind.ACTION, meaning, implemented=implemented)


def _m(
    name: str, meaning: str, operators: frozenset[str], range_: Range, **details: Unpack[_Details]
) -> Word:
    details.setdefault("actions", _ANONYMIZE_ONLY)
    details.setdefault("implemented", True)
    return Word(IRI(MOSAICROWN + name), Kind.REFINEMENT, meaning, operators, range_, **details)


def _s(
    name: str, meaning: str, operators: frozenset[str], range_: Range, **details: Unpack[_Details]
) -> Word:
    details.setdefault("actions", _ANONYMIZE_ONLY)
    return Word(IRI(SMALTI + name), Kind.REFINEMENT, meaning, operators, range_, **details)


def _budget(name: str, meaning: str, limits: Limits) -> Word:
    return Word(
        IRI(SMALTI + name), Kind.CONSTRAINT, meaning, _ONLY_AT_MOST, Range.DECIMAL, limits, implemented=True
    )


def _value(namespace: str, name: str, kind: Kind, meaning: str, implemented: bool = False) -> Word:
    return Word(IRI(namespace + name), kind, meaning, implemented=implemented)


def _smalti(*names: str) -> frozenset[IRI]:
    return frozenset(IRI(SMALTI + name) for name in names)


_ACTIONS = (
    _action(
        ANONYMIZE, "to make an asset from the target that protects persons as the refinements require", True
    ),
    _action(READ, "to view a target; being allowed to anonymize does not imply it", True),
    _action(SMALTI + "train", "to train a model on the target; included in odrl:derive", True),
    _action(SMALTI + "audit", "to attack a model before it is released; included in odrl:use", True),
)

_SENSITIVE = frozenset({IRI(MOSAICROWN + "sensitive")})
_SLICE = (
    _m("method", "the privacy model that is required", _EQ, Range.NAME, names=METHODS),
    _m("k", "the number of respondents in each equivalence class", _AT_LEAST, Range.INTEGER,
       limits=_TWO_OR_MORE,
       methods=frozenset({"k-anonymity", "l-diversity", "t-closeness", "k-map", "masking"}),
       algorithms=frozenset({"mondrian", "incognito", "mdav"})),
    _m("l", "the number of well-represented sensitive values in each class", _AT_LEAST, Range.INTEGER,
       limits=_TWO_OR_MORE, methods=frozenset({"l-diversity"})),
    _m("identifier", "the columns that are dropped", _ALL, Range.COLUMNS, actions=_ANONYMIZE_ONLY | _TRAIN),
    _m("quasi-identifier", "the columns that are generalised", _ALL, Range.COLUMNS),
    _m("sensitive", "the columns that are kept and must be diverse in each class", _ALL, Range.COLUMNS),
    _s("released", "the columns that are published unchanged, on the policy author's responsibility", _ALL,
       Range.COLUMNS, implemented=True),
    _s("respondent", "the column that identifies the person a row is about, or smalti:oneRowEach", _EQ,
       Range.COLUMN, actions=_ANONYMIZE_ONLY | _TRAIN, implemented=True),
    _s("algorithm", "the technique, or all of them; mondrian when absent", _EQ | _ALL,
       Range.NAME, names=ALGORITHMS, implemented=True),
)  # fmt: skip

_ONLY_MONDRIAN = frozenset({"mondrian"})
_MONDRIAN = (
    _s("partitioning", "whether equal values may be divided between classes, or classes improved", _EQ,
       Range.NAME, names=("strict", "relaxed", "improved"), methods=_CLASSES, algorithms=_ONLY_MONDRIAN,
       implemented=True),
    _s("dimensionality", "whether a cut is made inside one partition or through the whole domain", _EQ,
       Range.NAME, names=("multi", "single"), methods=_CLASSES, algorithms=_ONLY_MONDRIAN,
       implemented=True),
    _s("cutScore", "the score by which cuts are chosen", _EQ, Range.NAME,
       names=("certainty-penalty", "normalized-span", "entropy"), methods=_CLASSES,
       algorithms=_ONLY_MONDRIAN, implemented=True),
    _s("fragmentColumn", "the quasi-identifier of the first cut, which is the first distributed one", _EQ,
       Range.COLUMN, methods=_CLASSES, algorithms=_ONLY_MONDRIAN, implemented=True),
)  # fmt: skip

_ANONYMIZE = (
    _s("diversity", "the kind of l-diversity", _EQ, Range.NAME, names=("distinct", "entropy", "recursive"),
       methods=frozenset({"l-diversity"}), implemented=True),
    _s("c", "the constant of recursive (c,l)-diversity", _AT_MOST, Range.DECIMAL, limits=_POSITIVE,
       methods=frozenset({"l-diversity"}), needs=_smalti("diversity"), implemented=True),
    _s("t", "the largest distance between a class's distribution and the whole table's", _AT_MOST,
       Range.DECIMAL, limits=_INNER_SHARE, methods=frozenset({"t-closeness"}), scope=Scope.EITHER,
       implemented=True),
    _s("distance", "how far two values are apart: of t-closeness, and of a microaggregated column",
       _EQ, Range.NAME, names=("equal", "ordered", "hierarchical"), methods=_DISTANCES | _MASKING,
       scope=Scope.EITHER, implemented=True),
    _s("alpha", "the largest share of one sensitive value in a class, of (alpha,k)-anonymity", _AT_MOST,
       Range.DECIMAL, limits=_INNER_SHARE, methods=frozenset({"k-anonymity", "l-diversity", "t-closeness"}),
       scope=Scope.EITHER, needs=_SENSITIVE, implemented=True),
    _s("suppressionLimit", "the share of respondents that may be left out", _AT_MOST, Range.DECIMAL,
       limits=_SHARE_BELOW_ONE, methods=_CLASSES, implemented=True,
       algorithms=frozenset({"mondrian", "incognito", "anatomy"})),
    _s("suppressedRecords", "what becomes of records within the limit of suppression; left-out when absent",
       _EQ, Range.NAME, names=("left-out", "kept"), methods=_CLASSES, algorithms=frozenset({"incognito"}),
       needs=_smalti("suppressionLimit"), implemented=True),
    _s("lossMeasure", "the loss by which a node of the lattice is chosen; non-uniform-entropy when absent",
       _EQ, Range.NAME, methods=_CLASSES, algorithms=frozenset({"incognito"}), implemented=True,
       names=("non-uniform-entropy", "certainty-penalty", "discernibility", "average-class")),
    _s("standardization",
       "what the values of a column are divided by before distances; standard-deviation when absent", _EQ,
       Range.NAME, names=("none", "range", "standard-deviation"), methods=_DISTANCES,
       algorithms=frozenset({"mdav"}), implemented=True),
    _s("blocks", "the number of blocks that the table is cut into, each grouped by itself; 1 when absent",
       _EQ, Range.INTEGER, limits=_ONE_OR_MORE, methods=_DISTANCES, algorithms=frozenset({"mdav"}),
       implemented=True),
    _s("outputForm", "how a generalised value is written", _EQ, Range.NAME,
       names=("range", "set", "prefix", "node", "mean", "median", "mode", "medoid"),
       methods=_CLASSES | _MASKING,
       algorithms=frozenset({"mondrian", "incognito", "mdav"}), scope=Scope.EITHER, implemented=True),
    _s("labelBounds", "whether a range's ends are values of the class, or come from public bounds and cuts",
       _EQ, Range.NAME, names=("observed", "region"), methods=_CLASSES,
       algorithms=frozenset({"mondrian", "incognito"}), scope=Scope.EITHER, implemented=True),
    _s("column", "the column that a parameter applies to", _EQ, Range.COLUMN, scope=Scope.COLUMN,
       implemented=True),
    _s("topCode", "the value at and above which all values are reported as one", _EQ, Range.VALUE,
       methods=_ANY_MASKING, algorithms=frozenset({"top-coding"}), scope=Scope.COLUMN, implemented=True),
    _s("bottomCode", "the value at and below which all values are reported as one", _EQ, Range.VALUE,
       methods=_ANY_MASKING, algorithms=frozenset({"bottom-coding"}), scope=Scope.COLUMN, implemented=True),
    _s("level", "the level of its hierarchy at which a column is published; 0 is that of the values", _EQ,
       Range.INTEGER, limits=_ONE_OR_MORE, methods=_ANY_MASKING, algorithms=frozenset({"generalization"}),
       scope=Scope.COLUMN, implemented=True),
    _s("intervalWidth", "the width of the intervals that a column is recoded to; of dates in days", _EQ,
       Range.DECIMAL, limits=_POSITIVE, methods=_ANY_MASKING, algorithms=frozenset({"global-recoding"}),
       scope=Scope.COLUMN, implemented=True),
    _s("intervals", "the number of equal intervals between its public bounds that a column is recoded to",
       _EQ, Range.INTEGER, limits=_ONE_OR_MORE, methods=_ANY_MASKING,
       algorithms=frozenset({"global-recoding"}), scope=Scope.COLUMN, implemented=True),
    _s("minimumFrequency", "the number of respondents below which a value is rare, and suppressed",
       _EQ, Range.INTEGER, limits=_TWO_OR_MORE, methods=_ANY_MASKING,
       algorithms=frozenset({"cell-suppression", "record-suppression"}), scope=Scope.COLUMN,
       implemented=True),
    _s("noiseDistribution", "the distribution that noise is drawn from", _EQ, Range.NAME,
       names=("uniform", "normal"), methods=_ANY_MASKING, algorithms=frozenset({"noise-addition"}),
       scope=Scope.EITHER, implemented=True),
    _s("noiseScale", "the spread of added noise, in the column's unit", _AT_LEAST, Range.DECIMAL,
       limits=_POSITIVE, methods=_ANY_MASKING, algorithms=frozenset({"noise-addition"}), scope=Scope.COLUMN,
       implemented=True),
    _s("pseudonym", "the columns that are replaced by keyed pseudonyms", _ALL, Range.COLUMNS,
       methods=_CLASSES | _MASKING, needs=_smalti("pseudonymKey"), implemented=True),
    _s("pseudonymKey", "the name of the key of pseudonyms, never the key itself", _EQ, Range.NAME,
       methods=_CLASSES | _MASKING, needs=_smalti("pseudonym"), form=_SHORT_NAME, implemented=True),
    _s("population", "the table of the population that the respondents come from", _EQ, Range.DATASET,
       methods=frozenset({"k-map", "delta-presence"}), implemented=True),
    _s("presence", "the bounds of the probability that a person is in the table",
       frozenset({"gteq", "lteq"}), Range.DECIMAL, limits=_SHARE, methods=frozenset({"delta-presence"}),
       implemented=True),
    _s("samplingRate", "the share of rows that is drawn, or of records in a training batch", _AT_MOST,
       Range.DECIMAL, limits=_SHARE_ABOVE_ZERO, actions=_ANONYMIZE_ONLY | _TRAIN, methods=_ANY_MASKING,
       algorithms=frozenset({"sampling"}), implemented=True),
)  # fmt: skip

_PRIVACY_LOSS = (
    _s("epsilon", "the privacy loss of one release", _AT_MOST, Range.DECIMAL, limits=_POSITIVE,
       actions=_ANONYMIZE_ONLY | _TRAIN, methods=_ANY_DP, implemented=True),
    _s("delta", "the probability with which the privacy loss may exceed epsilon", _AT_MOST, Range.DECIMAL,
       limits=_SHARE_BELOW_ONE, actions=_ANONYMIZE_ONLY | _TRAIN, methods=_ANY_DP, implemented=True),
    _s("posteriorBelief", "the largest belief in a person's presence after a release, one half before it",
       _ONLY_AT_MOST, Range.DECIMAL, actions=_ANONYMIZE_ONLY | _TRAIN, methods=_ANY_DP,
       limits=_ABOVE_A_GUESS, implemented=True),
    _s("membershipAdvantage", "the largest advantage of guessing a person's presence", _ONLY_AT_MOST,
       Range.DECIMAL, limits=_INNER_SHARE, actions=_ANONYMIZE_ONLY | _TRAIN, methods=_ANY_DP,
       implemented=True),
    _s("mechanism", "the mechanism that randomises a release", _CHOICE, Range.NAME,
       names=("laplace", "gaussian", "exponential", "randomized-response", "pixelation"), methods=_ANY_DP,
       implemented=True),
    _s("neighbors", "the neighbouring relation over respondents", _EQ, Range.NAME,
       names=("add-or-remove-one", "change-one"), actions=_ANONYMIZE_ONLY | _TRAIN, methods=_DP,
       implemented=True),
    _s("rowsPerRespondent", "the largest number of rows of one respondent", _AT_MOST, Range.INTEGER,
       limits=_ONE_OR_MORE, actions=_ANONYMIZE_ONLY | _TRAIN, methods=_DP, implemented=True),
    _s("groupsPerRespondent", "the largest number of groups with rows of one respondent", _AT_MOST,
       Range.INTEGER, limits=_ONE_OR_MORE, methods=_DP, implemented=True),
    _s("statistic", "the statistics that a request may ask for", _ANY, Range.NAME, methods=_DP,
       names=("count", "distinct-count", "sum", "mean", "variance", "histogram", "contingency", "quantile",
              "mode"), implemented=True),
    _budget("budgetEpsilon",
            "the ceiling of epsilon for all releases about the same respondents, without reset",
            _NOT_NEGATIVE),
    _budget("budgetDelta",
            "the ceiling of delta for all releases about the same respondents, without reset",
            _SHARE_BELOW_ONE),
    _s("measure", "the columns that statistics may be computed on", _ANY, Range.COLUMNS, methods=_ANY_DP,
       implemented=True),
    _s("groupBy", "the columns that statistics may be grouped by", _ANY, Range.COLUMNS, methods=_DP,
       implemented=True),
    _s("pixelSize", "the width of a pixelation cell, in pixels", _AT_LEAST, Range.INTEGER,
       limits=_ONE_OR_MORE, methods=_LOCAL_DP, needs=_smalti("mechanism"), implemented=True),
    _s("pixelNeighborhood", "the largest number of pixels in which neighbouring images differ",
       _AT_LEAST, Range.INTEGER, limits=_ONE_OR_MORE, methods=_LOCAL_DP, needs=_smalti("mechanism"),
       implemented=True),
)  # fmt: skip

_AUDIT = (
    _s("recipe", "the model to train", _EQ, Range.NAME, actions=_TRAIN, implemented=True, form=_SHORT_NAME),
    _s("labelColumn", "the column that the model learns to predict", _EQ, Range.COLUMN, actions=_TRAIN,
       implemented=True),
    _s("syntheticRecords",
       "the number of synthetic records that a generative model gives, published in its place", _AT_MOST,
       Range.INTEGER, limits=_ONE_OR_MORE, actions=_TRAIN, implemented=True),
    _s("attack", "the attacks that an audit must try", _ALL, Range.NAME, names=ATTACKS,
       actions=_AUDIT_ONLY, implemented=True),
    _s("noiseMultiplier", "the noise of private training, as a multiple of the clipping norm", _AT_LEAST,
       Range.DECIMAL, limits=_POSITIVE, actions=_TRAIN, implemented=True),
    _s("clippingNorm", "the norm that each record's gradient is clipped to", _AT_MOST, Range.DECIMAL,
       limits=_POSITIVE, actions=_TRAIN, implemented=True),
    _s("epochs", "the number of passes over the training data", _AT_MOST, Range.INTEGER,
       limits=_ONE_OR_MORE, actions=_TRAIN, implemented=True),
    _s("attackAdvantage", "the largest advantage that an audited attack may show", _ONLY_AT_MOST,
       Range.DECIMAL, limits=_INNER_SHARE, actions=_AUDIT_ONLY, implemented=True),
    _s("attackPrecision", "the largest precision that an audited attack may show", _ONLY_AT_MOST,
       Range.DECIMAL, limits=_ABOVE_A_GUESS, actions=_AUDIT_ONLY, implemented=True),
    _s("truePositiveRate", "the largest true positive rate that an audited attack may show", _ONLY_AT_MOST,
       Range.DECIMAL, limits=_INNER_SHARE, actions=_AUDIT_ONLY, implemented=True,
       needs=_smalti("falsePositiveRate")),
    _s("epsilonLowerBound", "the largest lower bound of epsilon that an audit may find", _ONLY_AT_MOST,
       Range.DECIMAL, limits=_NOT_NEGATIVE, actions=_AUDIT_ONLY, implemented=True),
    _s("confidence", "the confidence at which each of an audit's bounds must hold; 0.95 when absent", _EQ,
       Range.DECIMAL, limits=_INNER_SHARE, actions=_AUDIT_ONLY, implemented=True),
    _s("falsePositiveRate", "the false positive rate at which the true positive rate is read", _EQ,
       Range.DECIMAL, limits=_INNER_SHARE, actions=_AUDIT_ONLY, implemented=True,
       needs=_smalti("truePositiveRate")),
)  # fmt: skip

_METHOD_MEANINGS = (
    "each combination of quasi-identifiers is shared by at least k respondents",
    "each class of at least k respondents has at least l well-represented sensitive values",
    "each class's sensitive distribution is within t of the whole table's",
    "each combination of quasi-identifiers is shared by at least k persons of the population",
    "the probability that a person of the population is in the table stays within bounds",
    "the output hardly depends on any one respondent",
    "each respondent's report hardly depends on their true value",
    "values are masked by a single technique, without the guarantee of a privacy model",
)
_ALGORITHM_MEANINGS = (
    "Mondrian multidimensional partitioning",
    "full-domain generalisation by lattice search",
    "microaggregation around maximally distant records",
    "quasi-identifiers and sensitive values published in separate tables",
    "a random share of the rows is published",
    "single values are suppressed",
    "whole columns are suppressed",
    "whole records are suppressed",
    "values are replaced by more general ones",
    "all equal values are recoded alike",
    "values above a threshold are reported as one",
    "values below a threshold are reported as one",
    "random noise is added to values",
    "values are replaced by keyed pseudonyms",
)
_METHODS = tuple(
    _value(MOSAICROWN if name.endswith(("k-anonymity", "l-diversity")) else SMALTI, name, Kind.METHOD,
           meaning, True)
    for name, meaning in zip(METHODS, _METHOD_MEANINGS, strict=True)
)  # fmt: skip
_ALGORITHMS = tuple(
    _value(SMALTI, name, Kind.ALGORITHM, meaning, True)
    for name, meaning in zip(ALGORITHMS, _ALGORITHM_MEANINGS, strict=True)
)
_PURPOSES = (
    _value(MOSAICROWN, "statistical", Kind.PURPOSE, "to compute statistics", True),
    _value(MOSAICROWN, "institutional", Kind.PURPOSE, "the institution's own tasks", True),
    _value(MOSAICROWN, "marketing", Kind.PURPOSE, "to promote or sell products or services", True),
)
_OTHERS = (
    Word(IRI(MOSAICROWN + "purpose"), Kind.CONSTRAINT,
         "the purpose that a rule is limited to; as a property of the rule or as a constraint",
         _PURPOSE_OPERATORS, Range.PURPOSES, implemented=True),
    _value(SMALTI, "oneRowEach", Kind.VALUE, "each row is about a different respondent", True),
)  # fmt: skip

WORDS: Final[tuple[Word, ...]] = (
    *_ACTIONS, *_SLICE, *_MONDRIAN, *_ANONYMIZE, *_PRIVACY_LOSS, *_AUDIT,
    *_METHODS, *_ALGORITHMS, *_PURPOSES, *_OTHERS,
)  # fmt: skip
"""All words of the profile."""

BY_IRI: Final[Mapping[str, Word]] = MappingProxyType({word.iri: word for word in WORDS})
"""The word that an IRI means."""

_M_K, _M_L = IRI(MOSAICROWN + "k"), IRI(MOSAICROWN + "l")
_M_QUASI, _M_SENSITIVE = IRI(MOSAICROWN + "quasi-identifier"), IRI(MOSAICROWN + "sensitive")


def _one_of(*names: str) -> tuple[IRI, ...]:
    return tuple(IRI(SMALTI + name) for name in names)


METHOD_NEEDS: Final[Mapping[str, tuple[tuple[IRI, ...], ...]]] = MappingProxyType({
    "k-anonymity": ((_M_K,), (_M_QUASI,)),
    "l-diversity": ((_M_K,), (_M_L,), (_M_SENSITIVE,), (_M_QUASI,)),
    "t-closeness": ((_M_K,), _one_of("t"), (_M_SENSITIVE,), (_M_QUASI,)),
    "k-map": ((_M_K,), _one_of("population"), (_M_QUASI,)),
    "delta-presence": (_one_of("presence"), _one_of("population"), (_M_QUASI,)),
    "differential-privacy": (_one_of("epsilon", "posteriorBelief", "membershipAdvantage"),),
    "local-differential-privacy": (_one_of("epsilon", "posteriorBelief", "membershipAdvantage"),),
    "masking": (_one_of("algorithm"),),
})  # fmt: skip
"""The refinements that each method requires; of several in one place, exactly one."""

ALGORITHM_NEEDS: Final[Mapping[str, tuple[IRI, ...]]] = MappingProxyType({
    "sampling": _one_of("samplingRate"),
    "top-coding": _one_of("topCode"),
    "bottom-coding": _one_of("bottomCode"),
    "noise-addition": _one_of("noiseScale"),
    "generalization": _one_of("level"),
    "cell-suppression": _one_of("minimumFrequency"),
    "record-suppression": _one_of("minimumFrequency"),
})  # fmt: skip
"""The refinements that an algorithm requires in addition to those of its method."""

ACTION_NEEDS: Final[Mapping[IRI, tuple[tuple[IRI, ...], ...]]] = MappingProxyType({
    IRI(SMALTI + "train"): (_one_of("recipe"), _one_of("labelColumn", "syntheticRecords")),
    IRI(SMALTI + "audit"): (
        _one_of("attack"),
        _one_of("attackAdvantage", "attackPrecision", "truePositiveRate", "epsilonLowerBound"),
    ),
})  # fmt: skip
"""The refinements that other actions than to anonymize require; of several in one place, at least one."""


def words(kind: Kind) -> tuple[Word, ...]:
    """The words of one kind, in the table's order."""
    return tuple(word for word in WORDS if word.kind is kind)
