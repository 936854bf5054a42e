"""A policy in plain words, and what `check` does not check."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from smalti.policy.decide.facts import comparisons
from smalti.policy.lint.check_dataset import all_rules
from smalti.policy.model.column_iris import is_column_of
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Audit,
    Bound,
    ColumnComparison,
    Comparison,
    Condition,
    Day,
    Duty,
    Instant,
    Interval,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Party,
    Permission,
    Policy,
    PolicyType,
    Prohibition,
    Rule,
    Text,
    Training,
    Truth,
    Value,
)
from smalti.policy.model.refinements import audit_conditions, training_conditions
from smalti.policy.read.anonymization import unimplemented_words
from smalti.policy.read.unimplemented import remedies_to_run, unimplemented_refinements
from smalti.policy.say.serialize import number_text
from smalti.vocab.terms import (
    ANATOMY,
    ATTACK,
    CONFIDENCE,
    FALSE_POSITIVE_RATE,
    IDENTIFIER,
    IRI,
    K_ANONYMITY,
    L_DIVERSITY,
    LABEL_COLUMN,
    MONDRIAN,
    ODRL,
    ODRL_PURPOSE,
    RECIPE,
    RESPONDENT,
    SMALTI,
    SYNTHETIC_RECORDS,
    TRUE_POSITIVE_RATE,
)
from smalti.vocab.words import BY_IRI

_MOST: Final = 5
"""The most members of a list that are named."""
_DEEPEST: Final = 3
"""The deepest level of nested conditions that is written out."""
_DATE_TIME: Final = ODRL + "dateTime"
_COLUMN: Final = SMALTI + "column"
_COMPARED: Final = {
    Operator.EQ: "is",
    Operator.NEQ: "is not",
    Operator.GT: "is above",
    Operator.GTEQ: "is at least",
    Operator.LT: "is below",
    Operator.LTEQ: "is at most",
    Operator.IS_A: "is",
    Operator.HAS_PART: "includes",
    Operator.IS_PART_OF: "is part of",
    Operator.IS_ALL_OF: "is all of",
    Operator.IS_ANY_OF: "is",
    Operator.IS_NONE_OF: "is none of",
}
_IN_TIME: Final = {
    Operator.GT: "is after",
    Operator.GTEQ: "is not before",
    Operator.LT: "is before",
    Operator.LTEQ: "is not after",
}
_PARAMETER: Final = {Operator.EQ: "=", Operator.GTEQ: "at least", Operator.LTEQ: "at most"}
_JOINED: Final = {
    LogicalOperator.AND: " and ",
    LogicalOperator.OR: " or ",
    LogicalOperator.XONE: " or ",
    LogicalOperator.AND_SEQUENCE: ", then ",
}
_POSITIVE: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF})


def describe(policy: Policy) -> tuple[str, ...]:
    """One sentence for each rule of a policy, without full stop: who may, may not or must do what, and how.

    Lists are cut after five members. Values in conditions come from the policy, never from data.
    """
    return tuple(_sentence(rule, policy) for rule in policy.rules)


def not_checked(policy: Policy, with_dataset: bool) -> tuple[str, ...]:
    """What `check` did not check, and `run` may still refuse.

    Args:
        policy: a valid one.
        with_dataset: whether it was compared with a description of the data.
    """
    data = "the data" if with_dataset else "the data and its description"
    recipes = any(permission.training is not None for permission in policy.permissions)
    words = _list(_unimplemented(policy), "and")
    return (
        data,
        *(["whether the recipe exists, which `plan` checks"] if recipes else []),
        *([f"words that `run` refuses as not implemented: {words}"] if words else []),
    )


def summary(policy: Policy, with_dataset: bool = False) -> str:
    """The summary of a valid policy for `check`: one line for one rule, otherwise a line for each.

    Args:
        policy: a valid one.
        with_dataset: whether it was compared with a description of the data.
    """
    sentences, unseen = describe(policy), "; ".join(not_checked(policy, with_dataset))
    if len(sentences) == 1:
        return f"{sentences[0]}. Not checked: {unseen}"
    rules = [f"  - {sentence}" for sentence in sentences]
    return "\n".join([f"{len(sentences)} rules", *rules, f"  Not checked: {unseen}"])


def _unimplemented(policy: Policy) -> list[str]:
    """The words that `run` refuses by name, each once, by alphabet."""
    rules = all_rules((*policy.permissions, *policy.obligations, *remedies_to_run(policy)))
    return sorted({word for rule in rules for word in _later(rule)})


def _later(rule: Rule) -> Iterator[str]:
    operands = [leaf.operand for leaf in comparisons((*rule.constraints, *rule.refinements))]
    for iri in (rule.action, *operands):
        if iri in BY_IRI and not BY_IRI[iri].implemented:
            yield f"`{'smalti:' if iri.startswith(SMALTI) else ''}{BY_IRI[iri].name}`"
    way = _anonymization(rule)
    yield from (word for word, _ in unimplemented_words(way)) if way is not None else ()
    yield from (word for word, _ in unimplemented_refinements(rule))


# --- Sentences


def describe_duty(duty: Duty) -> str:
    """A duty, as part of a sentence."""
    return _duty(duty)


def describe_condition(condition: Condition) -> str:
    """A condition, as part of a sentence."""
    return _condition(condition)


def _sentence(rule: Rule, policy: Policy) -> str:
    parts = [_who_does_what(rule), *_limits(rule), *_in_return(rule)]
    if policy.valid is not None:
        parts.append(_validity(policy.valid))
    offered = "only offered, not in force: " if policy.type is PolicyType.OFFER else ""
    return offered + "; ".join(part for part in parts if part)


def _who_does_what(rule: Rule) -> str:
    match rule:
        case Permission():
            who, verb = _parties(rule.assignees, "anybody"), "may"
        case Prohibition():
            who, verb = _parties(rule.assignees, "nobody"), "may not" if rule.assignees else "may"
        case _:
            who, verb = _parties(rule.assignees, "everybody"), "must"
    return f"{who} {verb} {_deed(rule)}"


def _deed(rule: Rule) -> str:
    """Action, targets, purposes, and how."""
    how, purposes = _how(rule), _purposes(rule)
    refined = _list([_condition(refinement) for refinement in rule.refinements], "and")
    done = [_local(rule.action), f"(where {refined})" if refined else "", _targets(rule), purposes]
    text = " ".join(part for part in done if part).removesuffix(",")
    if not how:
        return text
    output = rule.output if isinstance(rule, Permission | Duty) else None
    return f"{text}: {how}" + (f"; output {output}" if output else "")


def _how(rule: Rule) -> str:
    """How a rule anonymizes, trains or audits; empty for other actions."""
    if isinstance(rule, Permission) and rule.training is not None:
        return _training(rule.training)
    if isinstance(rule, Duty) and rule.audit is not None:
        return _audit(rule.audit)
    way = _anonymization(rule)
    return _way(way) if way is not None else ""


def _limits(rule: Rule) -> Iterator[str]:
    """The constraints other than a list of purposes; limits to rows apart.

    An unknown condition keeps a permission from applying, but not a prohibition.
    """
    rest = [condition for condition in rule.constraints if not _lists_purposes(condition)]
    about = [_is_about_rows(condition, rule.targets) for condition in rest]
    rows = _list(
        [_condition(condition) for condition, is_it in zip(rest, about, strict=True) if is_it], "and"
    )
    world = _list(
        [_condition(condition) for condition, is_it in zip(rest, about, strict=True) if not is_it], "and"
    )
    forbids = isinstance(rule, Prohibition)
    if rows:
        yield f"all rows, not only where {rows}" if forbids else f"only rows where {rows}"
    if world:
        yield f"if {world}, or if this is unknown" if forbids else f"only if {world}"
    undeclared = dict.fromkeys(iri for condition in rest for iri in _undeclared(condition, rule.targets))
    if undeclared:
        yield f"unknown unless {_list([f'`{iri}`' for iri in undeclared], 'and')} is declared"


def _in_return(rule: Rule) -> Iterator[str]:
    match rule:
        case Permission(duties=duties):
            yield from (_as_condition(duty) for duty in duties)
        case Prohibition(remedies=remedies):
            yield from (f"whoever violates this must {_duty(remedy)}" for remedy in remedies)
        case Duty(consequences=consequences):
            yield from (f"otherwise must {_duty(consequence)}" for consequence in consequences)


def _as_condition(duty: Duty) -> str:
    """A duty of a permission, which the permission depends on."""
    if duty.anonymization is None:
        return f"in return must {_duty(duty)}"
    output = f"; output {duty.output}" if duty.output else ""
    return ", ".join([f"only if anonymized as follows: {_way(duty.anonymization)}{output}", *_limits(duty)])


def _duty(duty: Duty) -> str:
    return ", ".join([_deed(duty), *_functions(duty), *_limits(duty), *_in_return(duty)])


def _functions(duty: Duty) -> Iterator[str]:
    """The further parties of a duty, each with ODRL's word for it."""
    for function in duty.functions:
        yield f"`{function.function.removeprefix(ODRL)}`: {_collection(function.party, 'members of')}"


def _anonymization(rule: Rule) -> Anonymization | None:
    return rule.anonymization if isinstance(rule, Permission | Duty) else None


def _validity(valid: Interval) -> str:
    start = f"from {_moment(valid.start)}" if valid.start is not None else ""
    end = f"until {_moment(valid.end)}" if valid.end is not None else ""
    return " ".join(part for part in ("in force" if start or end else "", start, end) if part)


def _moment(time: datetime) -> str:
    text = time.isoformat().replace("+00:00", "Z")
    return text.removesuffix("T00:00:00Z")


# --- Parties, targets, purposes


def _parties(parties: Sequence[Party], otherwise: str) -> str:
    return _list([_collection(party, "members of") for party in parties], "or") or otherwise


def _targets(rule: Rule) -> str:
    targets = [_collection(target, "the part of") for target in rule.targets]
    listed = _list(targets, "or" if isinstance(rule, Prohibition) else "and")
    return f"{listed}, also jointly," if isinstance(rule, Permission) and len(targets) > 1 else listed


def _collection(collection: Asset | Party, of: str) -> str:
    if not collection.refinements:
        return collection.iri
    return f"{of} {collection.iri} where {_list([_condition(c) for c in collection.refinements], 'and')}"


def _lists_purposes(condition: Condition) -> bool:
    return (
        isinstance(condition, Comparison)
        and condition.operand == ODRL_PURPOSE
        and condition.operator in _POSITIVE
    )


def _purposes(rule: Rule) -> str:
    lists = [
        _list([_value(value) for value in condition.values], "or")
        for condition in rule.constraints
        if isinstance(condition, Comparison) and _lists_purposes(condition)
    ]
    unknown = " or an unknown purpose" if lists and isinstance(rule, Prohibition) else ""
    return f"for {', and for '.join(lists)}{unknown}" if lists else ""


# --- Anonymization


def _way(way: Anonymization) -> str:
    plain = way.method in {K_ANONYMITY, L_DIVERSITY}
    parts = [
        "" if plain else way.method,
        "" if way.algorithms in {(), (MONDRIAN,)} else f"by {_list(list(way.algorithms), 'and')}",
        _bound("k", way.k),
        _bound("l", way.l),
        *map(_parameter, way.parameters),
        *_columns(way),
        _persons(way),
    ]
    return ", ".join(part for part in parts if part)


def _columns(way: Anonymization) -> list[str]:
    """`3 columns dropped by name`, `3 generalised`: the noun appears once."""
    fates = (
        (len(way.identifiers), "dropped by name"),
        *_of_people(way),
        (len(way.released), "released unchanged"),
    )
    return _fates(fates)


def _of_people(way: Anonymization) -> tuple[tuple[int, str], ...]:
    """What becomes of quasi-identifiers and of sensitive columns."""
    quasi_identifiers, sensitive = len(way.quasi_identifiers), len(way.sensitive)
    if way.algorithm == ANATOMY:
        return (quasi_identifiers, "published exactly"), (sensitive, "published apart")
    return (quasi_identifiers, "generalised"), (sensitive, "kept")


def _fates(fates: Iterable[tuple[int, str]]) -> list[str]:
    present = [(count, fate) for count, fate in fates if count]
    nouns = ["column " if count == 1 else "columns " for count, _ in present[:1]] + [""] * len(present)
    return [f"{count} {noun}{fate}" for (count, fate), noun in zip(present, nouns, strict=False)]


def _persons(way: Anonymization | Training) -> str:
    if way.one_row_each:
        return "one row for each respondent"
    return f"respondents identified by {_local(way.respondent.iri)}" if way.respondent else ""


def _bound(name: str, bound: Bound | None) -> str:
    return f"{name} {_PARAMETER[bound.operator]} {bound.value}" if bound is not None else ""


def _parameter(condition: Condition) -> str:
    """A parameter in short; a parameter of one column ends with the column."""
    match condition:
        case Comparison(operand=operand, operator=operator, values=values):
            compared = _PARAMETER.get(operator, _COMPARED[operator])
            return f"{_local(operand)} {compared} {_list([_value(value) for value in values], 'or')}"
        case Logical(operator=LogicalOperator.AND, operands=operands):
            own = [
                operand
                for operand in operands
                if isinstance(operand, Comparison) and operand.operand == _COLUMN
            ]
            others = [_parameter(operand) for operand in operands if operand not in own]
            columns = [
                _local(value.iri)
                for comparison in own
                for value in comparison.values
                if isinstance(value, Named)
            ]
            return (
                f"{' and '.join(others)} for {' and '.join(columns)}" if columns else " and ".join(others)
            )
    return _condition(condition)


# --- Training and audits


def _training(training: Training) -> str:
    model = _published(training)
    named = {RECIPE, LABEL_COLUMN, SYNTHETIC_RECORDS, IDENTIFIER, RESPONDENT}
    others = [condition for condition in training_conditions(training) if _operand(condition) not in named]
    noise = "with noise" if training.is_private else "without noise, so that it may memorise its data"
    columns = _fates(((len(training.identifiers), "dropped by name"),))
    parts = [model, noise, *map(_parameter, others), *columns, _persons(training)]
    return ", ".join(part for part in parts if part)


def _published(training: Training) -> str:
    """The model, or what is published in its place."""
    records, label = training.synthetic_records, training.label_column
    if records is not None:
        most = "at most " if records.operator is not Operator.EQ else ""
        return f"{most}{records.value} synthetic records of a model by `{training.recipe}`"
    predicted = "" if label is None else f" that predicts {_local(label.iri)}"
    return f"a model by `{training.recipe}`{predicted}"


def _audit(audit: Audit) -> str:
    attacks = _list([f"`{name}`" for name in audit.attacks], "and")
    named = {ATTACK, TRUE_POSITIVE_RATE, FALSE_POSITIVE_RATE, CONFIDENCE}
    bounds = [
        _parameter(condition) for condition in audit_conditions(audit) if _operand(condition) not in named
    ]
    if audit.true_positive_rate is not None and audit.false_positive_rate is not None:
        highest, at = number_text(audit.true_positive_rate), number_text(audit.false_positive_rate)
        bounds.append(f"truePositiveRate at most {highest} where falsePositiveRate = {at}")
    return f"by {attacks}, with {_list(bounds, 'and')} at confidence {number_text(audit.confidence)}"


def _operand(condition: Condition) -> IRI | None:
    return condition.operand if isinstance(condition, Comparison) else None


# --- Conditions


def _is_about_rows(condition: Condition, targets: Sequence[Asset]) -> bool:
    match condition:
        case ColumnComparison(column=column):
            return _may_be_column(column.iri, targets)
        case Logical(operands=operands):
            return all(_is_about_rows(operand, targets) for operand in operands)
    return False


def _may_be_column(iri: IRI, targets: Sequence[Asset]) -> bool:
    """Whether an IRI has the form of a column's; a duty without targets has those of its rule."""
    return not targets or any(is_column_of(target.iri, iri) for target in targets)


def _undeclared(condition: Condition, targets: Sequence[Asset], depth: int = 0) -> Iterator[IRI]:
    """The operands that are unknown unless declared, as deep as conditions are written out."""
    match condition:
        case ColumnComparison(column=column) if not _may_be_column(column.iri, targets):
            yield column.iri
        case Logical(operands=operands) if depth < _DEEPEST:
            for operand in operands:
                yield from _undeclared(operand, targets, depth + 1)


def _condition(condition: Condition, depth: int = 0) -> str:
    match condition:
        case Comparison(operand=operand, operator=operator, values=values, unit=unit):
            text = _compared(_local(operand), operator, values, operand == _DATE_TIME)
            return f"{text} ({_local(unit)})" if unit is not None else text
        case ColumnComparison(column=column, operator=operator, values=values):
            return _compared(_local(column.iri), operator, values, False)
        case Logical(operator=operator, operands=operands):
            if depth == _DEEPEST:
                return f"({len(operands)} conditions)"
            inside = _JOINED[operator].join(_condition(operand, depth + 1) for operand in operands[:_MOST])
            more = f" and {len(operands) - _MOST} more" if len(operands) > _MOST else ""
            return f"{'exactly one of ' if operator is LogicalOperator.XONE else ''}({inside}{more})"


def _compared(name: str, operator: Operator, values: Sequence[Value], is_time: bool) -> str:
    is_time |= all(isinstance(value, Day | Instant) for value in values)
    verb = _IN_TIME.get(operator, _COMPARED[operator]) if is_time else _COMPARED[operator]
    word = "and" if operator is Operator.IS_ALL_OF else "or"
    return f"{name} {verb} {_list([_value(value) for value in values], word)}"


def _value(value: Value) -> str:
    match value:
        case Named(iri=iri):
            return _local(iri) if iri in BY_IRI or "#" in iri or iri.startswith(ODRL) else iri
        case Number(value=number):
            return number_text(number)
        case Text(text=text):
            return f"`{text if len(text) <= 40 else text[:37] + '...'}`"
        case Truth(value=truth):
            return "true" if truth else "false"
        case Instant(time=time):
            return time.isoformat().replace("+00:00", "Z")
        case Day(day=day):
            return day.isoformat()


def _local(iri: str) -> str:
    return iri.rstrip("/#").rpartition("#")[2].rpartition("/")[2] or iri


def _list(items: Sequence[str], word: str) -> str:
    """`a, b and c`; after five members only how many more."""
    if len(items) > _MOST:
        items = [*items[:_MOST], f"{len(items) - _MOST} more"]
    *first, last = items or [""]
    return f"{', '.join(first)} {word} {last}" if first else last
