"""Every word of the profile that a policy may use: one frozen table.

`profile.ttl` is checked against this table, and so is everything that a policy says: a word that is known
but not implemented is refused by name, a word that is not in here is a mistake.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from smalti.vocab.terms import ANONYMIZE, DPV, IRI, MOSAICROWN, READ, SMALTI


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
    """What stands on the right of an operand."""

    NONE = "nothing"
    NAME = "a name"
    INTEGER = "a whole number"
    DECIMAL = "a number"
    COLUMN = "a column"
    COLUMNS = "columns"
    DATASET = "a dataset"
    VALUE = "a value"
    PURPOSES = "purposes"


@dataclass(frozen=True, slots=True)
class Word:
    """One word, as the profile defines it."""

    iri: IRI
    kind: Kind
    meaning: str
    """One sentence."""
    operators: frozenset[str] = frozenset()
    """Local names of the ODRL operators that make sense for it."""
    range: Range = Range.NONE
    minimum: int | None = None
    """Smallest whole number allowed, where there is one."""
    names: tuple[str, ...] = ()
    """The names allowed, where the range is `NAME` and closed."""
    implemented: bool = False

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
)
_EQ = frozenset({"eq"})
_AT_LEAST = frozenset({"eq", "gteq"})
_AT_MOST = frozenset({"eq", "lteq"})
_ONLY_AT_MOST = frozenset({"lteq"})
_ALL = frozenset({"isAllOf"})
_ANY = frozenset({"isAnyOf"})
_CHOICE = frozenset({"eq", "isAnyOf"})


def _action(iri: str, meaning: str, implemented: bool = False) -> Word:
    return Word(IRI(iri), Kind.ACTION, meaning, implemented=implemented)


def _m(
    name: str, meaning: str, operators: frozenset[str], range_: Range, minimum: int | None = None
) -> Word:
    names = METHODS if name == "method" else ()
    return Word(IRI(MOSAICROWN + name), Kind.REFINEMENT, meaning, operators, range_, minimum, names, True)


def _s(  # noqa: PLR0913, PLR0917 (one row of a table)
    name: str,
    meaning: str,
    operators: frozenset[str],
    range_: Range,
    minimum: int | None = None,
    names: tuple[str, ...] = (),
    implemented: bool = False,
    kind: Kind = Kind.REFINEMENT,
) -> Word:
    return Word(IRI(SMALTI + name), kind, meaning, operators, range_, minimum, names, implemented)


def _value(namespace: str, name: str, kind: Kind, meaning: str, implemented: bool = False) -> Word:
    return Word(IRI(namespace + name), kind, meaning, implemented=implemented)


_ACTIONS = (
    _action(ANONYMIZE, "to make an asset from the target in which persons are protected as refined", True),
    _action(READ, "to view a target; being allowed to anonymize does not imply it", True),
    _action(SMALTI + "train", "to train a model on the target; included in odrl:derive"),
    _action(SMALTI + "audit", "to attack a model before it is released; included in odrl:use"),
)

_SLICE = (
    _m("method", "the privacy model that is promised", _EQ, Range.NAME),
    _m("k", "the number of respondents in each equivalence class", _AT_LEAST, Range.INTEGER, 2),
    _m("l", "the number of well-represented sensitive values in each class", _AT_LEAST, Range.INTEGER, 2),
    _m("identifier", "the columns that are dropped", _ALL, Range.COLUMNS),
    _m("quasi-identifier", "the columns that are generalised", _ALL, Range.COLUMNS),
    _m("sensitive", "the columns that are kept and must be diverse in each class", _ALL, Range.COLUMNS),
    _s("released", "the columns that are kept unchanged, on the policy author's word", _ALL, Range.COLUMNS,
       implemented=True),
    _s("respondent", "the column that names the person a row is about, or smalti:oneRowEach", _EQ,
       Range.COLUMN, implemented=True),
    _s("algorithm", "the technique that meets the promise; mondrian when absent", _EQ, Range.NAME,
       names=ALGORITHMS, implemented=True),
)  # fmt: skip

_MONDRIAN = (
    _s("partitioning", "whether equal values may be divided between classes", _EQ, Range.NAME,
       names=("strict", "relaxed")),
    _s("dimensionality", "whether a cut is made inside one partition or through the whole domain", _EQ,
       Range.NAME, names=("multi", "single")),
    _s("cutScore", "what a cut is judged by", _EQ, Range.NAME,
       names=("certainty-penalty", "normalized-span", "entropy")),
    _s("fragmentColumn", "the column of the first distributed cut", _EQ, Range.COLUMN),
)  # fmt: skip

_ANONYMIZE = (
    _s("diversity", "the kind of l-diversity", _EQ, Range.NAME, names=("distinct", "entropy", "recursive")),
    _s("c", "the constant of recursive (c,l)-diversity", _AT_MOST, Range.DECIMAL),
    _s("t", "the largest distance between a class's distribution and the whole table's", _AT_MOST,
       Range.DECIMAL),
    _s("distance", "the distance of t-closeness", _EQ, Range.NAME,
       names=("equal", "ordered", "hierarchical")),
    _s("alpha", "the largest share of one sensitive value in a class, of (alpha,k)-anonymity", _AT_MOST,
       Range.DECIMAL),
    _s("suppressionLimit", "the share of respondents that may be left out", _AT_MOST, Range.DECIMAL),
    _s("outputForm", "how a generalised value is written", _EQ, Range.NAME,
       names=("range", "set", "prefix", "node", "mean", "median")),
    _s("labelBounds", "whether a range's ends are values of the class, or come from public bounds and cuts",
       _EQ, Range.NAME, names=("observed", "region")),
    _s("column", "the column that a parameter is for", _EQ, Range.COLUMN),
    _s("topCode", "the value from which on values are reported as one", _EQ, Range.VALUE),
    _s("bottomCode", "the value up to which values are reported as one", _EQ, Range.VALUE),
    _s("noiseDistribution", "the distribution that noise is drawn from", _EQ, Range.NAME,
       names=("uniform", "normal")),
    _s("noiseScale", "the spread of added noise, in the column's unit", _AT_LEAST, Range.DECIMAL),
    _s("pseudonym", "the columns that are replaced by keyed pseudonyms", _ALL, Range.COLUMNS),
    _s("pseudonymKey", "the name of the key of pseudonyms, never the key", _EQ, Range.NAME),
    _s("population", "the table of the population that the respondents come from", _EQ, Range.DATASET),
    _s("presence", "the bounds of the chance that a person is in the table", frozenset({"gteq", "lteq"}),
       Range.DECIMAL),
    _s("samplingRate", "the share of rows that is drawn, or of records in a training batch", _AT_MOST,
       Range.DECIMAL),
)  # fmt: skip

_PRIVACY_LOSS = (
    _s("epsilon", "the privacy loss of one release", _AT_MOST, Range.DECIMAL),
    _s("delta", "the probability with which the privacy loss may exceed epsilon", _AT_MOST, Range.DECIMAL),
    _s("posteriorBelief", "the largest belief in a person's presence after a release, one half before it",
       _ONLY_AT_MOST, Range.DECIMAL),
    _s("membershipAdvantage", "the largest advantage of guessing a person's presence", _ONLY_AT_MOST,
       Range.DECIMAL),
    _s("mechanism", "the mechanism that randomises a release", _CHOICE, Range.NAME,
       names=("laplace", "gaussian", "exponential", "randomized-response", "pixelation")),
    _s("neighbors", "the neighbouring relation over respondents", _EQ, Range.NAME,
       names=("add-or-remove-one", "change-one")),
    _s("rowsPerRespondent", "the most rows that one respondent contributes", _AT_MOST, Range.INTEGER, 1),
    _s("groupsPerRespondent", "the most groups that one respondent contributes to", _AT_MOST,
       Range.INTEGER, 1),
    _s("statistic", "the statistics that may be asked for", _ANY, Range.NAME,
       names=("count", "distinct-count", "sum", "mean", "variance", "histogram", "contingency", "quantile",
              "mode")),
    _s("budgetEpsilon", "the ceiling of epsilon for all releases about the same respondents, for ever",
       _ONLY_AT_MOST, Range.DECIMAL, kind=Kind.CONSTRAINT),
    _s("budgetDelta", "the ceiling of delta for all releases about the same respondents, for ever",
       _ONLY_AT_MOST, Range.DECIMAL, kind=Kind.CONSTRAINT),
    _s("measure", "the columns that statistics may be computed on", _ANY, Range.COLUMNS),
    _s("groupBy", "the columns that statistics may be grouped by", _ANY, Range.COLUMNS),
    _s("pixelSize", "the width of a pixelation cell, in pixels", _AT_LEAST, Range.INTEGER, 1),
    _s("pixelNeighborhood", "the number of pixels in which neighbouring images may differ", _AT_LEAST,
       Range.INTEGER, 1),
)  # fmt: skip

_AUDIT = (
    _s("recipe", "the model to train", _EQ, Range.NAME),
    _s("labelColumn", "the column that the model learns to predict", _EQ, Range.COLUMN),
    _s("attack", "the attacks that an audit must try", _ALL, Range.NAME),
    _s("noiseMultiplier", "the noise of private training, as a multiple of the clipping norm", _AT_LEAST,
       Range.DECIMAL),
    _s("clippingNorm", "the norm that each record's gradient is clipped to", _AT_MOST, Range.DECIMAL),
    _s("epochs", "the number of passes over the training data", _AT_MOST, Range.INTEGER, 1),
    _s("attackAdvantage", "the largest advantage that an audited attack may show", _ONLY_AT_MOST,
       Range.DECIMAL),
    _s("attackPrecision", "the largest precision that an audited attack may show", _ONLY_AT_MOST,
       Range.DECIMAL),
    _s("truePositiveRate", "the largest true positive rate that an audited attack may show", _ONLY_AT_MOST,
       Range.DECIMAL),
    _s("epsilonLowerBound", "the largest lower bound of epsilon that an audit may find", _ONLY_AT_MOST,
       Range.DECIMAL),
    _s("confidence", "the confidence at which an audit's bounds hold", _EQ, Range.DECIMAL),
    _s("falsePositiveRate", "the false positive rate at which the true positive rate is read", _EQ,
       Range.DECIMAL),
)  # fmt: skip

_METHOD_MEANINGS = (
    "each combination of quasi-identifiers is shared by at least k respondents",
    "each class of at least k respondents has at least l well-represented sensitive values",
    "each class's sensitive distribution is within t of the whole table's",
    "each combination of quasi-identifiers is shared by at least k persons of the population",
    "the chance that a person of the population is in the table stays within bounds",
    "the output hardly depends on any one respondent",
    "each respondent's report hardly depends on their true value",
    "values are hidden by a single technique, without a model's promise",
)
_ALGORITHM_MEANINGS = (
    "Mondrian multidimensional partitioning",
    "full-domain generalisation by lattice search",
    "microaggregation around maximally distant records",
    "quasi-identifiers and sensitive values published apart",
    "a random share of the rows is published",
    "single values are left out",
    "whole columns are left out",
    "whole records are left out",
    "values are replaced by more general ones",
    "all equal values are recoded alike",
    "values above a threshold are reported as one",
    "values below a threshold are reported as one",
    "random noise is added to values",
)
_METHODS = tuple(
    _value(MOSAICROWN if name.endswith(("k-anonymity", "l-diversity")) else SMALTI, name, Kind.METHOD,
           meaning, name in ("k-anonymity", "l-diversity"))
    for name, meaning in zip(METHODS, _METHOD_MEANINGS, strict=True)
)  # fmt: skip
_ALGORITHMS = tuple(
    _value(SMALTI, name, Kind.ALGORITHM, meaning, name == "mondrian")
    for name, meaning in zip(ALGORITHMS, _ALGORITHM_MEANINGS, strict=True)
)
_PURPOSES = (
    _value(MOSAICROWN, "statistical", Kind.PURPOSE, "to make statistics", True),
    _value(MOSAICROWN, "institutional", Kind.PURPOSE, "the institution's own tasks", True),
    _value(MOSAICROWN, "marketing", Kind.PURPOSE, "to promote or sell products or services", True),
)
_OTHERS = (
    Word(IRI(MOSAICROWN + "purpose"), Kind.CONSTRAINT,
         "the purpose that a rule is limited to; as a property of the rule or as a constraint",
         frozenset({"eq", "isA", "isAnyOf"}), Range.PURPOSES, implemented=True),
    _value(SMALTI, "oneRowEach", Kind.VALUE, "each row is about another respondent", True),
)  # fmt: skip

WORDS: Final[tuple[Word, ...]] = (
    *_ACTIONS, *_SLICE, *_MONDRIAN, *_ANONYMIZE, *_PRIVACY_LOSS, *_AUDIT,
    *_METHODS, *_ALGORITHMS, *_PURPOSES, *_OTHERS,
)  # fmt: skip
"""All words of the profile."""

BY_IRI: Final[dict[str, Word]] = {word.iri: word for word in WORDS}
"""The word that an IRI means."""

UNIMPLEMENTED_PURPOSES: Final = (DPV,)
"""Namespaces of purposes that are known but not implemented yet."""


def words(kind: Kind) -> tuple[Word, ...]:
    """The words of one kind, in the table's order."""
    return tuple(word for word in WORDS if word.kind is kind)
