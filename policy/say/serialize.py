"""The canonical document of a policy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Final, TypeAlias

from smalti.policy.document.context import Terms, shipped_terms
from smalti.policy.model.meaning import is_generated
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    Day,
    Duty,
    Inclusion,
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
    Prohibition,
    Rule,
    Shared,
    Text,
    Truth,
    Value,
)
from smalti.policy.model.refinements import refinements_of
from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
)
from smalti.policy.text.layout import lay_out
from smalti.vocab.contexts import MOSAICROWN_CONTEXT, ODRL_CONTEXT, PREFERRED, SMALTI_CONTEXT
from smalti.vocab.terms import (
    ALGORITHM,
    DPV,
    IDENTIFIER,
    IRI,
    MAKING,
    METHOD,
    MOSAICROWN,
    ODRL,
    ODRL_PURPOSE,
    ONE_ROW_EACH,
    QUASI_IDENTIFIER,
    RELEASED,
    RESPONDENT,
    SENSITIVE,
    SMALTI,
    XSD,
    K,
    L,
)

_NOWHERE: Final = Place(0, 0, "")
_PREFIXES: Final = {ODRL: "odrl", MOSAICROWN: "mosaicrown", SMALTI: "smalti", DPV: "dpv", XSD: "xsd"}
_CONTEXTS: Final = (ODRL_CONTEXT, MOSAICROWN_CONTEXT, SMALTI_CONTEXT)
_TERMS: Final = Terms({t: iri for c in _CONTEXTS for t, iri in shipped_terms(c).items()}, _CONTEXTS)
_LONGEST_NUMBER: Final = 64
_DEEPEST: Final = 16
"""Collections that are written inside each other: readers take no document that is nested deeply."""
_Key: TypeAlias = tuple[IRI, bool]
"""An asset or a party, and whether it is a party."""


def serialize(policy: Policy) -> bytes:
    """The canonical document of a policy: compact JSON-LD in UTF-8, laid out as `fmt` does.

    Reading it again gives an equal policy, up to what comes from a document's bytes: its digest, and the
    uids that are made where a document gives none, which are left out here. Of an inherited policy the
    rules that it inherited are written out, with their uids, and `inheritFrom` is not: the document says
    by itself what the policy says, and no longer depends on its parents. What the policy says once for all
    its rules is written so where every rule has it (not where some are inherited, and lack it).
    """
    return lay_out(policy_object(policy)).encode()


# --- JSON


def _object(*members: tuple[str, JsonValue | None]) -> JsonObject:
    """An object with those members that have a value."""
    present = [Member(JsonString(key, _NOWHERE), value) for key, value in members if value is not None]
    return JsonObject(tuple(present), _NOWHERE)


def _string(text: str) -> JsonString:
    return JsonString(text, _NOWHERE)


def _array(items: Iterable[JsonValue]) -> JsonArray:
    return JsonArray(tuple(items), _NOWHERE)


def _list(items: Iterable[JsonValue]) -> JsonArray | None:
    """A list, or nothing in place of an empty one."""
    array = _array(items)
    return array if array.items else None


def _one_or_list(items: Sequence[JsonValue]) -> JsonValue | None:
    return items[0] if len(items) == 1 else _list(items)


def _reference(iri: str) -> JsonObject:
    return _object(("@id", _string(iri)))


def _literal(text: str, datatype: str) -> JsonObject:
    return _object(("@value", _string(text)), ("@type", _string(f"xsd:{datatype}")))


def _short(iri: str) -> str:
    """A word with its prefix; an IRI of no vocabulary as it is."""
    for namespace, prefix in _PREFIXES.items():
        if iri.startswith(namespace) and _TERMS.expand(f"{prefix}:{iri.removeprefix(namespace)}") == iri:
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return iri


def _word(iri: str) -> JsonString:
    """A word of ODRL by its term, where the contexts leave its meaning to it; others with their prefix."""
    name = iri.removeprefix(ODRL)
    return _string(name if iri.startswith(ODRL) and _TERMS.meanings.get(name) == iri else _short(iri))


# --- Policy and rules


def policy_object(policy: Policy) -> JsonObject:
    """The canonical document of a policy, as a JSON object."""
    shared = (
        policy.shared if policy.shared is not None and _is_in_all(policy.shared, policy.rules) else Shared()
    )
    writer = _Writer(policy, shared)
    body = (
        ("@type", _string(str(policy.type))),
        ("uid", None if is_generated(policy.uid) else _string(policy.uid)),
        ("profile", _one_or_list([_string(profile) for profile in policy.profiles])),
        ("conflict", _string(str(policy.conflict))),
        ("dct:valid", None if policy.valid is None else _string(_interval(policy.valid))),
        ("assigner", writer.parties(shared.assigners)),
        ("assignee", writer.parties(shared.assignees)),
        ("target", writer.targets(shared.targets)),
        ("action", _one_or_list([_string(_short(action)) for action in shared.actions])),
        ("permission", _list(writer.rules(policy.permissions, _NO_PARTS))),
        ("prohibition", _list(writer.rules(policy.prohibitions, _NO_PARTS))),
        ("obligation", _list(writer.rules(policy.obligations, _NO_PARTS))),
    )
    beside = [*writer.left(), *map(_definition, policy.inclusions)]
    whole = _object(*body, ("@graph", _list(beside)))
    contexts = [_string(PREFERRED[context]) for context in _needed(whole)]
    if not beside:
        return _object(("@context", _array(contexts)), *body)
    return _object(("@context", _array(contexts)), ("@graph", _array([_object(*body), *beside])))


def _definition(inclusion: Inclusion) -> JsonObject:
    return _object(
        ("@id", _string(inclusion.action)),
        ("@type", _string("Action")),
        ("includedIn", _string(_short(inclusion.broader))),
    )


def _is_in_all(shared: Shared, rules: Iterable[Rule]) -> bool:
    """Whether every rule has the shared parts, so that writing them once changes no rule."""
    return all(
        set(shared.targets) <= set(group[0].targets)
        and set(shared.assignees) <= set(group[0].assignees)
        and set(shared.assigners) <= set(group[0].assigners)
        and tuple(
            rule.action for rule in group[len(group) - len(shared.actions) :] if not _is_refined(rule)
        )
        == shared.actions
        for group in _as_written(rules)
    )


def _as_written(rules: Iterable[Rule]) -> list[list[Rule]]:
    """The rules that a rule with several actions became, together again."""
    return [list(actions) for _, actions in groupby(rules, _without_action)]


def _is_refined(rule: Rule) -> bool:
    has_way = isinstance(rule, Permission | Duty) and rule.anonymization is not None
    return has_way or bool(refinements_of(rule))


def _needed(body: JsonObject) -> tuple[Path, ...]:
    text = lay_out(body)
    return _CONTEXTS if '"smalti:' in text or '"dpv:' in text else _CONTEXTS[:2]


def _interval(valid: Interval) -> str:
    if valid.start is None and valid.end is None:
        return "../9999-12-31"  # both open cannot be written: this is the end of all days
    start, end = (".." if time is None else _time(time) for time in (valid.start, valid.end))
    return f"{start}/{end}"


def _time(time: datetime) -> str:
    if time.tzinfo is None:
        return time.isoformat()
    try:
        return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError:  # within a day of year 1 or year 9999
        return time.isoformat()


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts that a rule inherits: a duty inherits them from its rule."""

    targets: tuple[Asset, ...] = ()
    assignees: tuple[Party, ...] = ()
    assigners: tuple[Party, ...] = ()


_NO_PARTS: Final = _Parts()


class _Writer:
    """Writes rules; memberships are written once: where a member is first named, or beside the policy."""

    def __init__(self, policy: Policy, shared: Shared) -> None:
        self.shared = shared
        self.collections: dict[_Key, list[IRI]] = {}
        for membership in policy.memberships:
            key = membership.member, membership.of_parties
            self.collections.setdefault(key, []).append(membership.collection)

    def rules(self, rules: Sequence[Rule], inherited: _Parts) -> list[JsonValue]:
        """One object for each rule as it was written: with all its actions."""
        return [self.rule(group, inherited) for group in _as_written(rules)]

    def rule(self, actions: Sequence[Rule], inherited: _Parts) -> JsonObject:
        rule = next((candidate for candidate in actions if candidate.action in MAKING), actions[0])
        own = self.own(rule, inherited)
        purpose = _purpose_property(rule)
        output = rule.output if isinstance(rule, Permission | Duty) else None
        inner = _Parts(rule.targets, rule.assignees, rule.assigners)
        duties = rule.duties if isinstance(rule, Permission) else ()
        remedies = rule.remedies if isinstance(rule, Prohibition) else ()
        consequences = rule.consequences if isinstance(rule, Duty) else ()
        return _object(
            ("uid", None if is_generated(rule.uid) else _string(rule.uid)),
            ("assigner", self.parties(own.assigners)),
            ("assignee", self.parties(own.assignees)),
            ("target", self.targets(own.targets)),
            ("action", _actions(self.own_actions(actions, inherited))),
            ("output", None if output is None else self.named(output)),
            ("purpose", purpose),
            ("constraint", None if purpose else _list(map(_condition, rule.constraints))),
            *self.functions(rule),
            ("duty", _list(self.rules(duties, inner))),
            ("remedy", _list(self.rules(remedies, inner))),
            ("consequence", _list(self.rules(consequences, inner))),
        )

    def functions(self, rule: Rule) -> list[tuple[str, JsonValue | None]]:
        """The further parties of a duty, by their function."""
        functions = rule.functions if isinstance(rule, Duty) else ()
        return [
            (name.removeprefix(ODRL), self.parties([function.party for function in same]))
            for name, same in groupby(functions, lambda function: function.function)
        ]

    def own(self, rule: Rule, inherited: _Parts) -> _Parts:
        """The parts that a rule states itself."""
        if inherited is not _NO_PARTS:
            return _Parts(
                () if rule.targets == inherited.targets else rule.targets,
                () if rule.assignees == inherited.assignees else rule.assignees,
                () if rule.assigners == inherited.assigners else rule.assigners,
            )
        shared = self.shared
        return _Parts(
            tuple(target for target in rule.targets if target not in shared.targets),
            tuple(assignee for assignee in rule.assignees if assignee not in shared.assignees),
            tuple(assigner for assigner in rule.assigners if assigner not in shared.assigners),
        )

    def own_actions(self, actions: Sequence[Rule], inherited: _Parts) -> Sequence[Rule]:
        count = len(self.shared.actions) if inherited is _NO_PARTS else 0
        return actions[: len(actions) - count]

    def targets(self, targets: Sequence[Asset]) -> JsonValue | None:
        return _one_or_list([self.asset(target) for target in targets])

    def parties(self, parties: Sequence[Party]) -> JsonValue | None:
        return _one_or_list([self.party(party) for party in parties])

    def asset(self, asset: Asset) -> JsonValue:
        return self.collection(asset, "AssetCollection")

    def party(self, party: Party) -> JsonValue:
        return self.collection(party, "PartyCollection")

    def collection(self, collection: Asset | Party, kind: str) -> JsonValue:
        if not collection.refinements:
            return self.named(collection.iri, isinstance(collection, Party))
        return _object(
            ("@type", _string(kind)),
            (
                "source",
                _string(collection.iri),
            ),  # no membership is read there: it is written at a plain name
            ("refinement", _list(map(_condition, collection.refinements))),
        )

    def left(self) -> list[JsonValue]:
        """What is said of assets and parties that no rule names: it stands beside the policy.

        A collection that is named and written by itself stands before its members: where a reader comes to
        it for the first time, it goes on to all that it belongs to, and refuses what is linked too deeply.
        """
        nodes: list[JsonValue] = []
        while self.collections:
            written = [self.beside(next(iter(self.collections)))]
            while written:
                node, later = written[-1]
                if not later:
                    nodes.append(node)
                    written.pop()
                elif (key := later.pop()) in self.collections:
                    written.append(self.beside(key))
        return nodes

    def beside(self, key: _Key) -> tuple[JsonValue, list[_Key]]:
        """A node that stands by itself, and what is named there but still has to be written."""
        iri, is_party = key
        later: list[_Key] = []
        wholes = [self.named(whole, is_party, later=later) for whole in self.collections.pop(key)]
        kind = _string("Party" if is_party else "Asset")
        return _object(("uid", _string(iri)), ("@type", kind), ("partOf", _one_or_list(wholes))), later

    def named(
        self, iri: IRI, is_party: bool = False, depth: int = 1, later: list[_Key] | None = None
    ) -> JsonValue:
        """An IRI; where it is named first, with the collections that it belongs to.

        Args:
            iri: of an asset or a party.
            is_party: which of them.
            depth: how many names it stands in, itself included.
            later: takes those that are named here but written by themselves, since it is deep here.
        """
        key = (iri, is_party)
        if key not in self.collections:
            return _string(iri)
        if depth > _DEEPEST:
            if later is not None:
                later.append(key)
            return _string(iri)
        collections = self.collections.pop(key)
        wholes = [self.named(collection, is_party, depth + 1, later) for collection in collections]
        return _object(("uid", _string(iri)), ("partOf", _one_or_list(wholes)))


def _without_action(rule: Rule) -> Rule:
    """What is common to the rules that a rule with several actions became."""
    match rule:
        case Permission():
            bare = replace(rule, anonymization=None, training=None, output=None)
            return replace(bare, action=IRI(""), refinements=())
        case Duty():
            bare_duty = replace(rule, anonymization=None, audit=None, output=None)
            return replace(bare_duty, action=IRI(""), refinements=())
    return replace(rule, action=IRI(""), refinements=())


def _purpose_property(rule: Rule) -> JsonValue | None:
    """MOSAICrOWN's property, where the rule has no other constraint than a list of purposes."""
    match rule.constraints:
        case (Comparison(operand=operand, operator=Operator.IS_ANY_OF, values=values, unit=None),):
            names = [_string(_short(value.iri)) for value in values if isinstance(value, Named)]
            return _one_or_list(names) if operand == ODRL_PURPOSE and len(names) == len(values) else None
    return None


def _actions(rules: Sequence[Rule]) -> JsonValue | None:
    written = [_action(rule) for rule in rules]
    if not written:
        return None
    plain = all(isinstance(value, JsonString) for value in written)
    return written[0] if plain and len(written) == 1 else _array(written)


def _action(rule: Rule) -> JsonValue:
    anonymization = rule.anonymization if isinstance(rule, Permission | Duty) else None
    refinements = (
        _refinements(anonymization) if anonymization else [_condition(c) for c in refinements_of(rule)]
    )
    if not refinements:
        return _string(_short(rule.action))
    return _object(("rdf:value", _reference(_short(rule.action))), ("refinement", _array(refinements)))


# --- Conditions


def _refinements(anonymization: Anonymization) -> list[JsonValue]:
    conditions = [_comparison(METHOD, Operator.EQ, _string(anonymization.method))]
    if anonymization.several_algorithms:
        names = _array(list(map(_string, anonymization.several_algorithms)))
        conditions.append(_comparison(ALGORITHM, Operator.IS_ALL_OF, names))
    elif anonymization.algorithm is not None:
        conditions.append(_comparison(ALGORITHM, Operator.EQ, _string(anonymization.algorithm)))
    for word, bound in ((K, anonymization.k), (L, anonymization.l)):
        conditions += _bound(word, bound)
    respondent = IRI(_short(ONE_ROW_EACH)) if anonymization.one_row_each else None
    if anonymization.respondent is not None:
        respondent = anonymization.respondent.iri
    if respondent is not None:
        conditions.append(_comparison(RESPONDENT, Operator.EQ, _reference(respondent)))
    for word, columns in (
        (IDENTIFIER, anonymization.identifiers),
        (QUASI_IDENTIFIER, anonymization.quasi_identifiers),
        (SENSITIVE, anonymization.sensitive),
        (RELEASED, anonymization.released),
    ):
        conditions += _columns(word, columns)
    return [*conditions, *map(_condition, anonymization.parameters)]


def _bound(word: IRI, bound: Bound | None) -> list[JsonValue]:
    if bound is None:
        return []
    return [_comparison(word, bound.operator, JsonNumber(str(bound.value), _NOWHERE))]


def _columns(word: IRI, columns: tuple[ColumnReference, ...]) -> list[JsonValue]:
    if not columns:
        return []
    return [_comparison(word, Operator.IS_ALL_OF, _array(_reference(column.iri) for column in columns))]


def _comparison(operand: IRI, operator: Operator, right: JsonValue, unit: IRI | None = None) -> JsonValue:
    return _object(
        ("leftOperand", _word(operand)),
        ("operator", _string(str(operator))),
        ("rightOperand", right),
        ("unit", None if unit is None else _reference(unit)),
    )


def _condition(condition: Condition) -> JsonValue:
    match condition:
        case Comparison(operand=operand, operator=operator, values=values, unit=unit):
            return _comparison(operand, operator, _values(operator, values), unit)
        case ColumnComparison(column=column, operator=operator, values=values):
            return _comparison(column.iri, operator, _values(operator, values))
        case Logical(operator=LogicalOperator.AND_SEQUENCE as operator, operands=operands):
            return _object((str(operator), _object(("@list", _array(map(_condition, operands))))))
        case Logical(operator=operator, operands=operands):
            return _object((str(operator), _array(map(_condition, operands))))


_SETS: Final = frozenset({Operator.IS_ALL_OF, Operator.IS_ANY_OF, Operator.IS_NONE_OF})


def _values(operator: Operator, values: tuple[Value, ...]) -> JsonValue:
    written = [_value(value) for value in values]
    return _array(written) if operator in _SETS or len(written) > 1 else written[0]


def _value(value: Value) -> JsonValue:
    match value:
        case Named(iri=iri):
            return _reference(_short(iri))
        case Number(value=number):
            return JsonNumber(number_text(number), _NOWHERE)
        case Text(text=text):
            return _string(text)
        case Truth(value=truth):
            return JsonNamed(truth, _NOWHERE)
        case Instant(time=time):
            return _literal(_time(time), "dateTime")
        case Day(day=day):
            return _literal(day.isoformat(), "date")


def number_text(value: Decimal) -> str:
    """A number as exact JSON; without an exponent where that is short.

    >>> number_text(Decimal("1E+1")), number_text(Decimal("0.10")), number_text(Decimal("1e-70"))
    ('10', '0.1', '1e-70')
    """
    sign, digits, exponent = value.as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    kept = written.rstrip("0")
    if not kept or not isinstance(exponent, int):
        return "0"
    exponent += len(written) - len(kept)
    plain = len(kept) + max(exponent, 0, -exponent - len(kept)) + 3
    number = Decimal((sign, tuple(map(int, kept)), exponent))
    return f"{number:f}" if plain <= _LONGEST_NUMBER else f"{'-' * sign}{kept}e{exponent}"
