"""Permissions, prohibitions and duties (ODRL IM 2.6 and 2.7).

A rule with several actions becomes one `Rule` for each; its targets stay together (joint visibility).
"""

from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.document.nodes import Literal, Node, Property, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Audit,
    Condition,
    Duty,
    Function,
    Party,
    Permission,
    PolicyType,
    Prohibition,
    Training,
    Where,
)
from smalti.policy.read.actions import Action, read_actions
from smalti.policy.read.anonymization import read_anonymization
from smalti.policy.read.assets import read_assets, read_output, read_parties
from smalti.policy.read.auditing import read_audit
from smalti.policy.read.properties import check_properties
from smalti.policy.read.reading import Kind, Reading
from smalti.policy.read.reading_conditions import (
    ConditionContext,
    ConditionPlace,
    read_conditions,
    read_purpose_property,
)
from smalti.policy.read.training import read_training
from smalti.policy.read.values import Scope, bare_name, iri_is_good, is_described_here, one_value, values_of
from smalti.vocab.attacks import OF_SAMPLES, TABLE
from smalti.vocab.odrl import PARTY_FUNCTIONS
from smalti.vocab.terms import (
    ACTION,
    ANONYMIZE,
    ASSIGNEE,
    ASSIGNER,
    AUDIT,
    CONSEQUENCE,
    CONSTRAINT,
    DUTY,
    IRI,
    MAKING,
    ODRL,
    OUTPUT,
    PLANNED_DUTIES,
    PURPOSE,
    REMEDY,
    TARGET,
    TRAIN,
    UID,
)
from smalti.vocab.words import BY_IRI

NEEDED_PARTIES: Final = {PolicyType.AGREEMENT: ("assigner", "assignee"), PolicyType.OFFER: ("assigner",)}


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the rules that one node stands for have in common."""

    uid: IRI
    targets: tuple[Asset, ...]
    assignees: tuple[Party, ...]
    assigners: tuple[Party, ...]
    constraints: tuple[Condition, ...]
    output: IRI | None
    where: Where
    actions: frozenset[IRI] = frozenset()
    """All of them."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One action of a rule, with what limits or describes it."""

    action: IRI
    refinements: tuple[Condition, ...] = ()
    anonymization: Anonymization | None = None
    training: Training | None = None
    audit: Audit | None = None

    def output(self, parts: _Parts) -> IRI | None:
        return parts.output if self.action in MAKING else None


def read_permissions(node: Node, reading: Reading) -> tuple[Permission, ...]:
    """The permissions that a node stands for, one for each action; none after an error."""
    parts, ways = _read(node, Kind.PERMISSION, None, reading)
    duties = _duties(node, DUTY, Kind.DUTY, parts, reading)
    _check_attacked(node, duties, ways, reading.scope)
    if reading.scope.findings.has_errors:
        return ()
    return tuple(
        Permission(
            uid=parts.uid, action=way.action, targets=parts.targets, assignees=parts.assignees,
            assigners=parts.assigners, constraints=parts.constraints, refinements=way.refinements,
            where=parts.where, output=way.output(parts), anonymization=way.anonymization,
            training=way.training, duties=duties,
        )
        for way in ways
    )  # fmt: skip


def _check_attacked(node: Node, duties: tuple[Duty, ...], ways: tuple[_Way, ...], scope: Scope) -> None:
    """An audit under a permission to train attacks what is published: a model, or synthetic records."""
    prop, trainings = node.get(DUTY), [way.training for way in ways if way.training is not None]
    if prop is None or not trainings:
        return
    of_records = trainings[0].synthetic_records is not None
    tried = dict.fromkeys(name for duty in duties if duty.audit for name in duty.audit.attacks)
    unfit = [name for name in tried if (name in OF_SAMPLES) is not of_records]
    if unfit:
        what, other = ("synthetic records", "a model") if of_records else ("a model", "synthetic records")
        named = " and ".join(map(quoted, unfit))
        fitting = sorted(attack.name for attack in TABLE if (attack.name in OF_SAMPLES) is of_records)
        scope.findings.error(
            "P443",
            prop.key,
            f"the permission publishes {what}, and its audit would attack {other}: {named}",
            f"name {' or '.join(map(quoted, fitting))}",
        )


def read_prohibitions(node: Node, reading: Reading) -> tuple[Prohibition, ...]:
    """The prohibitions that a node stands for, one for each action; none after an error."""
    parts, ways = _read(node, Kind.PROHIBITION, None, reading)
    remedies = _duties(node, REMEDY, Kind.REMEDY, parts, reading)
    if reading.scope.findings.has_errors:
        return ()
    return tuple(
        Prohibition(
            uid=parts.uid, action=way.action, targets=parts.targets, assignees=parts.assignees,
            assigners=parts.assigners, constraints=parts.constraints, refinements=way.refinements,
            where=parts.where, remedies=remedies,
        )
        for way in ways
    )  # fmt: skip


def read_obligations(node: Node, reading: Reading) -> tuple[Duty, ...]:
    """The obligations that a node stands for, one for each action; none after an error."""
    return _read_duty(node, Kind.OBLIGATION, None, reading)


def _read_duty(node: Node, kind: Kind, of: _Parts | None, reading: Reading) -> tuple[Duty, ...]:
    parts, ways = _read(node, kind, of, reading)
    functions = _functions(node, ways, reading)
    may_have = kind.place is Kind.DUTY.place
    consequences = (
        _duties(node, CONSEQUENCE, Kind.CONSEQUENCE, parts, reading) if may_have else ()
    )  # elsewhere it is out of place, and reported so
    if reading.scope.findings.has_errors:
        return ()
    return tuple(
        Duty(
            uid=parts.uid, action=way.action, targets=parts.targets, assignees=parts.assignees,
            assigners=parts.assigners, constraints=parts.constraints, refinements=way.refinements,
            where=parts.where, output=way.output(parts), anonymization=way.anonymization,
            audit=way.audit, consequences=consequences, functions=functions,
        )
        for way in ways
    )  # fmt: skip


def _functions(node: Node, ways: tuple[_Way, ...], reading: Reading) -> tuple[Function, ...]:
    """The further parties of a duty; a plan that fulfils a duty would not inform or compensate anybody."""
    props = {name: prop for name in sorted(PARTY_FUNCTIONS) if (prop := node.get(ODRL + name)) is not None}
    if any(way.action in PLANNED_DUTIES for way in ways):
        for prop in props.values():
            feature = f"{quoted(prop.word)} on a duty to anonymize or audit"
            reading.scope.findings.not_implemented(prop.key, feature)
        return ()
    return tuple(
        Function(IRI(ODRL + name), party)
        for name, prop in props.items()
        for party in read_parties(prop, reading)
    )


def _duties(node: Node, word: str, kind: Kind, of: _Parts, reading: Reading) -> tuple[Duty, ...]:
    return tuple(
        duty
        for below in rule_nodes(node.get(word), kind, reading.scope)
        for duty in _read_duty(below, kind, of, reading)
    )


def rule_nodes(prop: Property | None, kind: Kind, scope: Scope) -> tuple[Node, ...]:
    """The nodes of rules that are written where a property leads to."""
    values = values_of(prop, scope) if prop is not None else ()
    return tuple(value for value in values if _is_written(value, kind, scope) and isinstance(value, Node))


def _is_written(value: Value, kind: Kind, scope: Scope) -> bool:
    if isinstance(value, Literal):
        message = f"a {kind.word} is an object, not {quoted(value.text)}"
        scope.findings.error("P314", value.place, message)
        return False
    return is_described_here(value, kind.word, scope)


def _read(node: Node, kind: Kind, of: _Parts | None, reading: Reading) -> tuple[_Parts, tuple[_Way, ...]]:
    """Read what all kinds of rules have.

    Args:
        node: the rule, with what its policy states for all rules.
        kind: of the rule.
        of: the rule that a duty belongs to: a duty that names no target and no party has those.
        reading: the policy, as far as it is read.
    """
    scope = reading.scope
    _check_types(node, kind, scope)
    check_properties(node, kind.place, scope)
    actions = _actions(node, kind, of, reading)
    parts = _parts(node, kind, of, reading)
    _check_parties(node, kind, parts, reading)
    parts = replace(parts, actions=frozenset(action.iri for action in actions))
    if of is not None and kind is Kind.DUTY and AUDIT in parts.actions:
        parts = _of_the_model(node, parts, of, scope)
    ways = tuple(_way(action, kind, parts, of, scope) for action in actions)
    if of is None and node.get(ACTION) is None:
        ways = tuple(_Way(action) for action in reading.shared.actions)
    if kind is not Kind.PROHIBITION:
        _check_output(node, kind, ways, scope)
        _check_making(node, kind, actions, parts, scope)
    return parts, ways


def _of_the_model(node: Node, parts: _Parts, of: _Parts, scope: Scope) -> _Parts:
    """The parts of a duty to audit a training: its target is the model, not the training data."""
    if TRAIN not in of.actions or of.output is None:
        return parts
    prop, model = node.get(TARGET), (Asset(of.output),)
    if prop is not None and parts.targets and parts.targets != model:
        message = f"the duty to audit has a target other than the model {quoted(of.output)}"
        help_ = "remove its target: the audit concerns the trained model"
        scope.findings.error("P440", prop.key, message, help_)
    return replace(parts, targets=model)


def _check_types(node: Node, kind: Kind, scope: Scope) -> None:
    for name in node.types:
        if name.iri not in {ODRL + kind.type, ODRL + "Rule"}:
            message = f"a {kind.word} cannot have the type {quoted(name.written)}"
            scope.findings.error("P320", name.place, message)


def _actions(node: Node, kind: Kind, of: _Parts | None, reading: Reading) -> tuple[Action, ...]:
    prop = node.get(ACTION)
    if prop is not None:
        return read_actions(prop, reading.scope)
    if of is not None or not reading.shared.actions:
        _missing("action", node, kind, reading)
    elif kind is not Kind.PROHIBITION:
        for action in sorted((MAKING | {AUDIT}) & set(reading.shared.actions)):
            name = quoted(BY_IRI[action].name)
            message = f"the {kind.word} takes the action {name} from a parent, but has no refinement for it"
            help_ = "write the refined action in the rule"
            reading.scope.findings.error("P411", node.place, message, help_)
    return ()


def _missing(part: str, node: Node, kind: Kind, reading: Reading) -> None:
    if node.is_complete and reading.is_whole:
        nested = kind in {Kind.DUTY, Kind.REMEDY, Kind.CONSEQUENCE}
        help_ = f"write `{part}` in the {kind.word}" + (
            "" if nested else ", or once on the policy for all its rules"
        )
        reading.scope.findings.error("P303", node.place, f"the {kind.word} has no `{part}`", help_)


def _parts(node: Node, kind: Kind, of: _Parts | None, reading: Reading) -> _Parts:
    scope, shared = reading.scope, reading.shared
    uid = read_uid(node, "rule", scope)
    targets = read_assets(node.get(TARGET), reading)
    assignees, assigners = (read_parties(node.get(part), reading) for part in (ASSIGNEE, ASSIGNER))
    if node.get(TARGET) is None:
        targets = of.targets if of is not None else shared.targets
    if node.get(ASSIGNEE) is None:
        assignees = of.assignees if of is not None else shared.assignees
    if node.get(ASSIGNER) is None:
        assigners = of.assigners if of is not None else shared.assigners
    if not targets and node.get(TARGET) is None and not kind.may_lack_target:
        _missing("target", node, kind, reading)
    constraints = _constraints(node, tuple(target.iri for target in targets), scope)
    output = read_output(node, reading) if OUTPUT in kind.place.understood else None
    where = scope.findings.where(node.place)
    return _Parts(uid, targets, assignees, assigners, constraints, output, where)


def _constraints(node: Node, targets: tuple[IRI, ...], scope: Scope) -> tuple[Condition, ...]:
    prop, purpose = node.get(CONSTRAINT), node.get(PURPOSE)
    conditions: tuple[Condition, ...] = ()
    if prop is not None:
        conditions = read_conditions(
            prop, "constraint", ConditionContext(ConditionPlace.RULE, targets=targets), scope
        )
    limit = read_purpose_property(purpose, scope) if purpose is not None else None
    return conditions if limit is None else (*conditions, limit)


def _check_parties(node: Node, kind: Kind, parts: _Parts, reading: Reading) -> None:
    if kind not in {Kind.PERMISSION, Kind.PROHIBITION, Kind.OBLIGATION} or not node.is_complete:
        return
    needed = NEEDED_PARTIES.get(reading.type, ())
    has = {
        "assigner": node.get(ASSIGNER) or parts.assigners,
        "assignee": node.get(ASSIGNEE) or parts.assignees,
    }
    missing = [quoted(name) for name in needed if not has[name]]
    if missing and reading.is_whole:
        code = "P316" if reading.type is PolicyType.AGREEMENT else "P324"
        message = f"a rule of an {reading.type} has no {' and no '.join(missing)}"
        reading.scope.findings.error(
            code, node.place, message, "write it in the rule, or once on the policy"
        )


def _way(action: Action, kind: Kind, parts: _Parts, of: _Parts | None, scope: Scope) -> _Way:
    if kind is not Kind.PROHIBITION and action.iri in _HOW:
        return _read_way(action, kind, parts, of, scope)
    if action.refinements is None:
        return _Way(action.iri)
    targets = tuple(target.iri for target in parts.targets)
    context = ConditionContext(
        ConditionPlace.ACTION, targets, action.iri, is_prohibition=kind is Kind.PROHIBITION
    )
    return _Way(action.iri, read_conditions(action.refinements, "refinement", context, scope))


_HOW: Final = {
    ANONYMIZE: "refine the action with mosaicrown:method, mosaicrown:k and the columns",
    TRAIN: "refine the action with smalti:recipe, and smalti:labelColumn or smalti:syntheticRecords",
    AUDIT: "refine the action with smalti:attack and a bound such as smalti:attackAdvantage",
}
"""The actions whose refinements are read together, and the help where they are missing."""


def _read_way(action: Action, kind: Kind, parts: _Parts, of: _Parts | None, scope: Scope) -> _Way:
    targets, refinements = tuple(target.iri for target in parts.targets), action.refinements
    if not _is_in_place(action, kind, of, scope):
        return _Way(action.iri)
    if _is_left_open(action, kind, parts.output):
        message = f"the remedy to {BY_IRI[action.iri].name} does not say how, so no run can carry it out"
        scope.findings.note("P513", action.place, message, _HOW[action.iri])
        return _Way(action.iri)
    if refinements is None:
        if action.is_complete:
            what = f"the {kind.word} to {BY_IRI[action.iri].name}"
            message = f"{what} has no `refinement`"
            scope.findings.error("P411", action.place, message, _HOW[action.iri])
        return _Way(action.iri)
    if action.iri == TRAIN:
        training = read_training(refinements, targets, action.place, scope, parts.constraints)
        return _Way(action.iri, training=training)
    if action.iri == AUDIT:
        return _Way(action.iri, audit=read_audit(refinements, targets, action.place, scope))
    how = read_anonymization(refinements, targets, action.place, scope, parts.constraints)
    return _Way(action.iri, anonymization=how)


def _is_left_open(action: Action, kind: Kind, output: object) -> bool:
    """Whether a remedy leaves open how to make its asset: people fulfil it, and not smalti."""
    is_bare = action.refinements is None and action.is_complete and output is None
    return kind is Kind.REMEDY and is_bare


def _is_in_place(action: Action, kind: Kind, of: _Parts | None, scope: Scope) -> bool:
    """Report training and audits in rules that no plan can carry out."""
    if action.iri == TRAIN and kind is not Kind.PERMISSION:
        message = f"the {kind.word} to train a model has no meaning here"
        scope.findings.error("P441", action.place, message, "write a permission to train it")
        return False
    if action.iri != AUDIT or (kind is Kind.DUTY and of is not None and ANONYMIZE not in of.actions):
        return True
    what = (
        "the duty to audit under a rule that anonymizes"
        if kind is Kind.DUTY
        else f"the {kind.word} to audit"
    )
    message = f"{what} has no meaning here: an audit is a duty of a permission to train or use a model"
    scope.findings.error("P440", action.place, message, "write it as `duty` of such a permission")
    return False


def _check_output(node: Node, kind: Kind, ways: tuple[_Way, ...], scope: Scope) -> None:
    prop = node.get(OUTPUT)
    if prop is not None and ways and not any(way.action in MAKING for way in ways):
        message = f"this {kind.word} neither anonymizes nor trains, so it has no {quoted(prop.word)}"
        scope.findings.error("P418", prop.key, message, "remove it, or write the action `anonymize`")


def _check_making(node: Node, kind: Kind, actions: tuple[Action, ...], parts: _Parts, scope: Scope) -> None:
    """One rule anonymizes or trains in one way, from one target to one output."""
    making = MAKING if kind is Kind.PERMISSION else MAKING - {TRAIN}
    named = node.get(OUTPUT)
    ways = [action for action in actions if action.iri in making and not _is_left_open(action, kind, named)]
    if not ways:
        return
    what = f"the {kind.word} to {BY_IRI[ways[0].iri].name}"
    if len(ways) > 1:
        message = f"{what} has several actions for one output"
        scope.findings.error("P333", ways[1].place, message, "write one rule for each action")
    _check_source(node, kind, what, parts, scope)
    if node.get(OUTPUT) is None and node.is_complete:
        message = f"{what} has no `output`"
        scope.findings.error("P414", node.place, message, "name the asset that it produces")


def _check_source(node: Node, kind: Kind, what: str, parts: _Parts, scope: Scope) -> None:
    targets, prop = [target.iri for target in parts.targets], node.get(OUTPUT)
    if len(targets) > 1:
        place = node.get(TARGET) or node.get(OUTPUT) or node.get(ACTION)
        message = f"{what} has {len(targets)} targets, but one output"
        scope.findings.error(
            "P333",
            place.key if place is not None else node.place,
            message,
            "write one rule for each target",
        )
    elif not targets and kind.may_lack_target and node.get(TARGET) is None and node.is_complete:
        message = f"{what} has no `target`"
        scope.findings.error("P303", node.place, message, "name the asset that is anonymized")
    spelled = {normalised_column(target) for target in targets}
    if prop is not None and parts.output is not None and normalised_column(parts.output) in spelled:
        message = f"the output {quoted(str(parts.output))} is the target itself"
        help_ = "name a new asset: a run never overwrites its input"
        scope.findings.error("P413", prop.values[0].place, message, help_)


GENERATED_UIDS: Final = ("urn:smalti:policy:", "urn:smalti:rule:")
"""Prefixes of the uids that smalti derives for policies and rules without one."""


def read_uid(node: Node, kind: str, scope: Scope) -> IRI:
    """The node's own uid, or one derived from the document's digest and the node's place."""
    generated = generated_uid(node, kind, scope)
    name = node.name
    if node.get(UID) is not None:  # written as a property, as in Turtle
        value = one_value(node, UID, scope)
        written = bare_name(value, f"the {kind}", scope) if value is not None else None
        if name is not None and written is not None and written.iri != name.iri:
            scope.findings.error("P319", written.place, f"the {kind} has two uids")
        name = written or name
    if name is None:
        return generated
    if name.iri.startswith("_:"):
        help_ = "write an IRI, or remove the uid"
        message = f"{quoted(name.written)} is a label inside this document, not a uid"
        scope.findings.error("P319", name.place, message, help_)
        return generated
    if name.iri.startswith(GENERATED_UIDS):
        message = f"{quoted(name.written)} is reserved for uids that smalti derives"
        scope.findings.error("P319", name.place, message, "write another IRI, or remove the uid")
        return generated
    return iri_is_good(name, f"the uid of the {kind}", scope) or generated


def generated_uid(node: Node, kind: str, scope: Scope) -> IRI:
    """The derived uid of a policy or a rule without one."""
    return IRI(f"urn:smalti:{kind}:sha256:{scope.digest}{node.place.pointer}")
