"""Compares a policy with the description of its data, without the data."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import quoted
from smalti.policy.model.column_iris import column_iri, is_below, is_column_of, normalised_column
from smalti.policy.model.dataset import ORDERED, ColumnFacts, DatasetFacts
from smalti.policy.model.model import (
    NOWHERE,
    Anonymization,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    Day,
    Duty,
    Instant,
    Logical,
    Named,
    Number,
    Operator,
    Permission,
    Policy,
    Prohibition,
    Rule,
    Text,
    Training,
    Truth,
    Value,
    Where,
)
from smalti.policy.model.suggest import did_you_mean
from smalti.vocab.terms import DISTANCE, IRI, MASKING, MDAV, OUTPUT_FORM, SMALTI
from smalti.vocab.words import BY_IRI, Range

_MOST: Final = 20
"""The most columns that one finding names."""
_COLUMN: Final = IRI(SMALTI + "column")
_OF_NUMBERS: Final = frozenset({SMALTI + "noiseScale", SMALTI + "noiseDistribution"})
_OF_INTERVALS: Final = frozenset({SMALTI + "intervalWidth"})
_OF_WHOLE_NUMBERS: Final = frozenset({SMALTI + "intervals"})
_LEVEL: Final = IRI(SMALTI + "level")
_OF_ORDERED: Final = frozenset({SMALTI + "topCode", SMALTI + "bottomCode"})
_FIGURES: Final = frozenset({Text("mean"), Text("median")})
_CATEGORIES: Final = frozenset({Text("mode"), Text("medoid")})
_OF_FIGURES: Final = "as numbers or dates"
_OF_CATEGORIES: Final = "as categories"
_ORDERS: Final = frozenset({Operator.GT, Operator.GTEQ, Operator.LT, Operator.LTEQ})
_NUMBERS: Final = frozenset({"integer", "decimal", "double"})
_WITH_FIGURES: Final = _NUMBERS | {"date"}
"""The datatypes whose classes have a mean and a median."""
_FITTING: Final = {Number: _NUMBERS, Day: frozenset({"date"}), Instant: frozenset({"dateTime"})}
"""The datatypes that a value can be compared with; a text is read in the column's datatype."""


@dataclass(frozen=True, slots=True)
class Use:
    """An action to anonymize that a rule permits or requires."""

    rule: Rule
    way: Anonymization


def check_dataset(policy: Policy, facts: DatasetFacts) -> tuple[Diagnostic, ...]:
    """Findings where a policy does not match the description of its data.

    Errors: columns that the description does not have, datatypes that do not support what the policy
    requires, a respondent other than the description's. Notes: described columns without a role, which are
    dropped.

    Args:
        policy: a valid one.
        facts: the description of one of its targets.
    """
    target = facts.describes(policy)
    if target is None:
        message = (
            f"the description {quoted(facts.source)} does not say which target of the policy it describes"
        )
        help_ = "give the described columns a `propertyUrl` under the target's IRI"
        return (Diagnostic("P613", Severity.WARNING, message, policy.where, help=help_),)
    checker = _Checker(target, facts, outputs(policy.rules))
    for rule in all_rules(policy.rules):
        if target in {asset.iri for asset in rule.targets}:
            checker.rule(rule)
        checker.parts(rule)
    return tuple(dict.fromkeys(checker.diagnostics))


def all_rules(rules: Iterable[Rule]) -> Iterator[Rule]:
    """The rules with their duties, remedies and consequences."""
    for rule in rules:
        yield rule
        match rule:
            case Permission(duties=inner) | Prohibition(remedies=inner) | Duty(consequences=inner):
                yield from all_rules(inner)


def outputs(rules: Iterable[Rule]) -> frozenset[IRI]:
    """The outputs that rules name."""
    named = (rule.output for rule in all_rules(rules) if isinstance(rule, Permission | Duty))
    return frozenset(output for output in named if output is not None)


def uses(policy: Policy, target: IRI) -> Iterator[Use]:
    """Every action to anonymize a target that a rule of the policy permits or requires."""
    for rule in all_rules(policy.rules):
        way = rule.anonymization if isinstance(rule, Permission | Duty) else None
        if way is not None and target in {asset.iri for asset in rule.targets}:
            yield Use(rule, way)


def parameters_of(
    conditions: Iterable[Condition],
) -> Iterator[tuple[Comparison, tuple[ColumnReference, ...]]]:
    """Each parameter, with the columns that it applies to (none: all)."""
    for condition in conditions:
        match condition:
            case Comparison():
                yield condition, ()
            case Logical(operands=operands):
                plain = [operand for operand in operands if isinstance(operand, Comparison)]
                own = [comparison for comparison in plain if comparison.operand == _COLUMN]
                columns = tuple(column for comparison in own for column in _named(comparison))
                yield from ((comparison, columns) for comparison in plain if comparison not in own)


def _named(comparison: Comparison) -> Iterator[ColumnReference]:
    for value in comparison.values:
        if isinstance(value, Named):
            where = comparison.where if value.where == NOWHERE else value.where
            yield ColumnReference(value.iri, where)


class _Checker:
    def __init__(self, target: IRI, facts: DatasetFacts, output_assets: frozenset[IRI]) -> None:
        self.target = target
        self.facts = facts
        self.output_assets = output_assets
        self.columns = facts.columns_of(target)
        self.diagnostics: list[Diagnostic] = []

    def rule(self, rule: Rule) -> None:
        refined = [
            refinement
            for asset in rule.targets
            if asset.iri == self.target
            for refinement in asset.refinements
        ]
        for condition in (*rule.constraints, *refined):
            self.rows(condition)
        if isinstance(rule, Permission | Duty) and rule.anonymization is not None:
            self.anonymization(rule.anonymization)
        if isinstance(rule, Permission) and rule.training is not None:
            self.training(rule.training)

    def parts(self, rule: Rule) -> None:
        """Targets below the table that are not described as its columns."""
        names = {column_iri(self.target, column.name) for column in self.columns.values()}
        described = {*self.columns, *map(normalised_column, names)}
        stem = normalised_column(self.target)
        for asset in rule.targets:
            iri = normalised_column(asset.iri)
            is_part = is_column_of(self.target, iri) or is_below(self.target, iri)
            if is_part and iri not in described and asset.iri not in self.output_assets:
                listed = [column.name for column in self.columns.values()]
                message = (
                    f"the target {quoted(asset.iri)} is below the table, and the description"
                    f" {quoted(self.facts.source)} has no such column"
                )
                help_ = (
                    did_you_mean(iri.removeprefix(stem).strip("/#?"), listed) or f"it has {_listed(listed)}"
                )
                self.diagnostics.append(
                    Diagnostic("P622", Severity.WARNING, message, asset.where, help=help_)
                )

    def column(self, reference: ColumnReference) -> ColumnFacts | None:
        """The description of a column; None after an error."""
        if reference.iri in self.columns:
            return self.columns[reference.iri]
        stem = normalised_column(f"{self.target}/")
        names = [iri.removeprefix(stem) for iri in self.columns]
        message = f"the description {quoted(self.facts.source)} has no column {quoted(reference.iri)}"
        help_ = did_you_mean(reference.iri.removeprefix(stem), names) or f"it has {_listed(names)}"
        self.error("P610", reference.where, message, help_)
        return None

    def rows(self, condition: Condition) -> None:
        match condition:
            case Logical(operands=operands):
                for operand in operands:
                    self.rows(operand)
            case ColumnComparison(column=reference):
                if self._is_ours(reference):
                    self.row(condition)

    def _is_ours(self, reference: ColumnReference) -> bool:
        """Whether a column can be one of this table: a rule about several tables may name others."""
        stem = normalised_column(f"{self.target}/")
        return reference.iri in self.columns or reference.iri.startswith(stem)

    def row(self, condition: ColumnComparison) -> None:
        column = self.column(condition.column)
        if column is None or column.datatype is None:
            return
        shown = f"the column {quoted(column.name)} is a {column.datatype}"
        if condition.operator in _ORDERS and column.datatype not in ORDERED:
            message = f"{shown}, whose values have no order, and is compared with `{condition.operator}`"
            self.error(
                "P612", condition.where, message, "compare with `eq`, `neq`, `isAnyOf` or `isNoneOf`"
            )
        for value in condition.values:
            fits = isinstance(value, Text) or column.datatype in _FITTING.get(type(value), ())
            if not fits:
                message = f"{shown}, and is compared with a {_KINDS.get(type(value), 'text')}"
                self.error("P612", condition.where, message, f"compare with a {column.datatype}")
                return

    def training(self, training: Training) -> None:
        for reference in (training.label_column, *training.identifiers):
            if reference is not None:
                self.column(reference)
        self.respondent(training)

    def anonymization(self, way: Anonymization) -> None:
        roles = (*way.identifiers, *way.quasi_identifiers, *way.sensitive, *way.released)
        for reference in roles:
            self.column(reference)
        self.respondent(way)
        grouped = self.microaggregation(way) if MDAV in way.algorithms else frozenset()
        self.coded(way)
        named = {reference.iri for reference in roles}
        for comparison, columns in parameters_of(way.parameters):
            named |= {reference.iri for reference in (*columns, *self.lists(comparison))}
            for reference in columns:
                self.parameter(comparison, reference, is_grouped=reference.iri in grouped)
        dropped = [column.name for iri, column in self.columns.items() if iri not in named]
        if dropped and any(iri in named for iri in self.columns):
            message = f"dropped, since the rule names no role for {_listed(dropped)}"
            self.diagnostics.append(Diagnostic("P611", Severity.NOTE, message, way.where))

    def microaggregation(self, way: Anonymization) -> frozenset[IRI]:
        """The described columns that are microaggregated."""
        stated: dict[IRI, dict[IRI, Comparison]] = {}
        of_all: dict[IRI, Comparison] = {}
        for comparison, columns in parameters_of(way.parameters):
            if comparison.operand == OUTPUT_FORM and not columns:
                of_all[OUTPUT_FORM] = comparison
            if comparison.operand in {DISTANCE, OUTPUT_FORM}:
                for reference in columns:
                    stated.setdefault(reference.iri, {})[comparison.operand] = comparison
        places = {reference.iri: reference.where for reference in way.quasi_identifiers}
        if way.method == MASKING:
            places = {iri: next(iter(words.values())).where for iri, words in stated.items()}
        for iri, where in places.items():
            column = self.columns.get(iri)
            if column is not None:
                words = of_all | stated.get(iri, {})
                self.grouped(column, where, words, is_masked=way.method == MASKING)
        return frozenset(places.keys() & self.columns.keys())

    def grouped(
        self, column: ColumnFacts, where: Where, stated: Mapping[IRI, Comparison], *, is_masked: bool
    ) -> None:
        """A microaggregated column, and what is stated for it."""
        distance, form = (stated[word].values if word in stated else () for word in (DISTANCE, OUTPUT_FORM))
        where = stated[DISTANCE].where if DISTANCE in stated else where
        shown = f"the column {quoted(column.name)}"
        if Text("hierarchical") in distance and column.hierarchy is None:
            message = f"the distance is `hierarchical`, and {shown} has no hierarchy"
            self.error("P612", where, message, "state another distance, or declare a hierarchy")
            return
        datatype = column.datatype or (None if column.hierarchy is None else "string")
        listed = datatype in (None, *_WITH_FIGURES) or column.hierarchy == "ordered"
        if Text("ordered") in distance and not listed:
            message = f"the distance is `ordered`, and {shown} is a {datatype}"
            help_ = "state another distance, or declare a datatype or the hierarchy `ordered`"
            self.error("P612", where, message, help_)
            return
        is_date_time = column.datatype == "dateTime" and column.hierarchy is None
        if not distance and is_date_time:
            message = f"the algorithm `{MDAV}` is not for date-times yet, and {shown} is a dateTime"
            help_ = "name it elsewhere, state its distance `equal`, or another algorithm"
            self.error("P612", where, message, help_)
            return
        what = _kind_of_groups(column, distance, form, is_masked=is_masked)
        if form and what is not None:
            self.representative(stated[OUTPUT_FORM], what, column)

    def representative(self, stated: Comparison, what: str, column: ColumnFacts) -> None:
        """A figure stands for groups of numbers or dates, and one of them for groups of categories."""
        fitting = _FIGURES if what == _OF_FIGURES else _CATEGORIES
        if not fitting.isdisjoint(stated.values):
            return
        names = " or ".join(f"`{name}`" for name in sorted(value.text for value in fitting))
        written = ", ".join(quoted(value.text) for value in stated.values if isinstance(value, Text))
        datatype = "" if column.datatype is None else f" ({column.datatype})"
        message = (
            f"{_shown(OUTPUT_FORM)} is {written}, and the column {quoted(column.name)}{datatype} is grouped"
            f" {what}, which have none"
        )
        self.error("P612", stated.where, message, f"write {names}, or correct the description")

    def coded(self, way: Anonymization) -> None:
        """Coded quasi-identifiers: their ranges may be open, and nodes of a hierarchy may not."""
        grouped = {reference.iri for reference in way.quasi_identifiers}
        for comparison, columns in parameters_of(way.parameters):
            for iri in {reference.iri for reference in columns} & grouped & self.columns.keys():
                if comparison.operand in _OF_ORDERED and self.columns[iri].hierarchy is not None:
                    shown = quoted(self.columns[iri].name)
                    message = f"the column {shown} is coded, and is published as nodes of its hierarchy"
                    help_ = "leave out the code, or the hierarchy in the description"
                    self.error("P612", comparison.where, message, help_)

    def lists(self, comparison: Comparison) -> tuple[ColumnReference, ...]:
        """The columns that a parameter itself lists; they must exist."""
        word = BY_IRI.get(comparison.operand)
        if word is None or word.range not in {Range.COLUMN, Range.COLUMNS}:
            return ()
        references = tuple(_named(comparison))
        for reference in references:
            self.column(reference)
        return references

    def parameter(self, comparison: Comparison, reference: ColumnReference, *, is_grouped: bool) -> None:
        column = self.column(reference)
        if column is not None and comparison.operand == _LEVEL and column.hierarchy is None:
            message = f"{_shown(_LEVEL)} is of a hierarchy, and the column {quoted(column.name)} has none"
            help_ = "declare `smalti:hierarchy` in the description, or leave it out"
            self.error("P612", comparison.where, message, help_)
        if column is None or column.datatype is None:
            return
        if comparison.operand in _OF_NUMBERS:
            fitting, wanted = _NUMBERS, "numbers"
        elif comparison.operand in _OF_INTERVALS or (
            not is_grouped and not _FIGURES.isdisjoint(comparison.values)
        ):
            fitting, wanted = _WITH_FIGURES, "numbers and dates"
        elif comparison.operand in _OF_WHOLE_NUMBERS:
            fitting, wanted = frozenset({"integer"}), "whole numbers"
        elif comparison.operand in _OF_ORDERED:
            fitting, wanted = ORDERED, "values with an order"
        else:
            return
        if column.datatype in fitting:
            return
        word, shown = _shown(comparison.operand), quoted(column.name)
        message = f"{word} is for {wanted}, and the column {shown} is a {column.datatype}"
        self.error("P612", comparison.where, message, "leave it out, or correct the description's datatype")

    def respondent(self, way: Anonymization | Training) -> None:
        declared = self.facts.respondent is not None or self.facts.one_row_each
        column = self.column(way.respondent) if way.respondent is not None else None
        says_column = column is not None and declared and column.name != self.facts.respondent
        says_each = way.one_row_each and self.facts.respondent is not None
        if says_column or says_each:
            other = quoted(self.facts.respondent or "oneRowEach")
            place = way.respondent.where if way.respondent is not None else way.where
            message = f"the description {quoted(self.facts.source)} declares another respondent: {other}"
            self.error("P614", place, message, "declare it in one place, or the same in both")

    def error(self, code: str, where: Where, message: str, help_: str) -> None:
        self.diagnostics.append(Diagnostic(code, Severity.ERROR, message, where, help=help_))


_KINDS: Final = {Number: "number", Day: "date", Instant: "date-time", Truth: "truth value", Named: "name"}


def _kind_of_groups(
    column: ColumnFacts, distance: Container[Value], form: Collection[Value], *, is_masked: bool
) -> str | None:
    """As what a microaggregated column is grouped; None: its description does not tell.

    A hierarchy of a column without a datatype is one of texts. A figure of a masked column passes over
    the hierarchies of numbers and dates.
    """
    if column.hierarchy == "ordered" or Text("equal") in distance or Text("hierarchical") in distance:
        return _OF_CATEGORIES
    by_datatype = is_masked and column.datatype is not None and not _FIGURES.isdisjoint(form)
    if column.hierarchy is not None and Text("ordered") not in distance and not by_datatype:
        return _OF_CATEGORIES
    if column.datatype is None:
        return _OF_FIGURES if Text("ordered") in distance else None
    return _OF_FIGURES if column.datatype in _WITH_FIGURES else _OF_CATEGORIES


def _shown(operand: IRI) -> str:
    """A word of the profile as JSON-LD writes it, which short forms have words for."""
    return quoted(f"smalti:{operand.removeprefix(SMALTI)}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(map(quoted, names[:_MOST])) + more
