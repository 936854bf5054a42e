"""Warnings about valid policies: rules that can never apply, and guarantees that protect little."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

from smalti.policy.decide.exclusion import Prover, all_of
from smalti.policy.decide.facts import comparisons
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import quoted
from smalti.policy.lint.check_dataset import Use, all_rules, outputs, parameters_of, uses
from smalti.policy.model.column_iris import is_below, parts_of_others
from smalti.policy.model.dataset import ORDERED, ColumnFacts, DatasetFacts
from smalti.policy.model.model import (
    Anonymization,
    ColumnComparison,
    Comparison,
    Condition,
    Duty,
    Permission,
    Policy,
    Prohibition,
    Rule,
    Text,
    Where,
)
from smalti.vocab.techniques import NO_MODEL, NOT_COVERED
from smalti.vocab.terms import (
    ANATOMY,
    BUDGET_DELTA,
    BUDGET_EPSILON,
    CHARGED_METHODS,
    IRI,
    L_DIVERSITY,
    MASKING,
    MDAV,
    OUTPUT_FORM,
    PSEUDONYM,
    PSEUDONYMIZATION,
    SMALTI,
)

_LABEL_BOUNDS: Final = IRI(SMALTI + "labelBounds")
_FIGURES: Final = (Text("mean"), Text("median"))
_DIVERSITY: Final = IRI(SMALTI + "diversity")
_PAIRS: Final = 64
"""The most conditions that one is compared with."""
_STEPS: Final = 100_000
"""The most steps of proofs in one policy: that conditions exclude each other."""
_BUDGETS: Final = (BUDGET_EPSILON, BUDGET_DELTA)

_NEVER: Final[Mapping[type[Rule], str]] = {
    Permission: "this permission never applies",
    Prohibition: "this prohibition denies only requests whose facts are unknown",
    Duty: "this obligation never applies",
}

Columns: TypeAlias = Mapping[IRI, ColumnFacts]


def lint(
    policy: Policy,
    dataset: DatasetFacts | None = None,
    now: datetime | None = None,
    hierarchies: Hierarchies = STANDARD,
) -> tuple[Diagnostic, ...]:
    """Warnings and notes about a valid policy, with their places; never errors.

    Reads no data and no network. Reports a rule only when it is certain that no request meets it.

    Args:
        policy: a valid one.
        dataset: the description of one of its targets; None: there is none.
        now: with its time zone; None: whether the policy has ended is not checked.
        hierarchies: what includes what.
    """
    diagnostics = [*_ended(policy, now), *_below(policy, dataset)]
    if policy.prohibitions:
        from smalti.policy.lint.overlaps import overlaps  # noqa: PLC0415 (it loads decisions)

        diagnostics += overlaps(policy, dataset, hierarchies)
    prover = Prover(hierarchies, _STEPS)
    for permission in policy.permissions:
        diagnostics += [*_never(permission, prover), *_unguarded(permission)]
    for rule in (*policy.prohibitions, *policy.obligations):
        diagnostics += _never(rule, prover)
    for way in _ways(policy):
        diagnostics += [*_respondent(way, None), *_exact(way), *_no_model(way)]
    diagnostics += _budgets(policy)
    target = dataset.describes(policy) if dataset is not None else None
    diagnostics += _undeclared(policy, dataset if target is not None else None)
    if dataset is not None and target is not None:
        diagnostics += _about_data(list(uses(policy, target)), target, dataset)
    return tuple(
        sorted(
            dict.fromkeys(diagnostics),
            key=lambda diagnostic: (diagnostic.where.line, diagnostic.where.column, diagnostic.code),
        )
    )


def _warning(code: str, where: Where, message: str, help_: str = "") -> Diagnostic:
    return Diagnostic(code, Severity.WARNING, message, where, help=help_)


# --- Rules that never apply


def _ended(policy: Policy, now: datetime | None) -> Iterator[Diagnostic]:
    if now is None or policy.valid is None or policy.valid.end is None or now < policy.valid.end:
        return
    end = policy.valid.end.astimezone(UTC).isoformat().replace("+00:00", "Z").removesuffix("T00:00:00Z")
    message = f"the policy ended at {end}: it no longer permits or forbids anything"
    yield _warning("P603", policy.where, message, "set a later end in `dct:valid`, or remove the policy")


def _below(policy: Policy, dataset: DatasetFacts | None) -> Iterator[Diagnostic]:
    """Targets below another target that name no column of it; `check_dataset` checks described tables."""
    described = None if dataset is None else dataset.describes(policy)
    assets = [asset for rule in all_rules(policy.rules) for asset in rule.targets]
    wholes, output_assets = parts_of_others(asset.iri for asset in assets), outputs(policy.rules)
    for asset in assets:
        table = next((whole for whole in wholes.get(asset.iri, ()) if is_below(whole, asset.iri)), None)
        if table is not None and table != described and asset.iri not in output_assets:
            message = f"the target {quoted(asset.iri)} is below {quoted(table)}, and is not a column of it"
            help_ = (
                f"name a column {quoted(f'{table}/NAME')}, and a separate table by an IRI that is not below"
            )
            yield _warning("P622", asset.where, message, help_)


def _never(rule: Rule, prover: Prover) -> Iterator[Diagnostic]:
    """Rules whose own constraints exclude each other."""
    limits = list(all_of(rule.constraints))[:_PAIRS]
    for at, limit in enumerate(limits):
        other = next((earlier for earlier in limits[:at] if _exclude(limit, earlier, prover)), None)
        if other is not None:
            message = f"{_NEVER[type(rule)]}: two of its constraints exclude each other"
            help_ = f"the other constraint is at line {other.where.line}" if other.where.line else ""
            yield _warning("P601", limit.where, message, help_)
            return


def _exclude(left: Condition, right: Condition, prover: Prover) -> bool:
    of_rows = isinstance(left, ColumnComparison) and isinstance(right, ColumnComparison)
    first, second = (_of_one_value(left), _of_one_value(right)) if of_rows else (left, right)
    return prover.exclude([first], [second], of_action=of_rows) or prover.exclude(
        [second], [first], of_action=of_rows
    )


def _of_one_value(condition: Condition) -> Condition:
    """A limit to rows as a condition on a parameter: each has exactly one value."""
    if not isinstance(condition, ColumnComparison):
        return condition
    return Comparison(condition.column.iri, condition.operator, condition.values)


def _budgets(policy: Policy) -> Iterator[Diagnostic]:
    """Releases without a budget, and budgets that no run charges."""
    rules: tuple[Permission | Duty, ...] = (*policy.permissions, *policy.obligations)
    for rule in rules:
        duties = rule.duties if isinstance(rule, Permission) else ()
        ways = [way for way in (rule.anonymization, *(duty.anonymization for duty in duties)) if way]
        budgets = [
            comparison for comparison in comparisons(rule.constraints) if comparison.operand in _BUDGETS
        ]
        for way in ways:
            what = f"the method {quoted(way.method)}"
            yield from _budget_of(way.method in CHARGED_METHODS, what, way.where, budgets)
        if isinstance(rule, Permission) and rule.training is not None:
            yield from _budget_of(
                rule.training.is_private, "training without noise", rule.training.where, budgets
            )


def _budget_of(
    is_charged: bool, what: str, where: Where, budgets: Sequence[Comparison]
) -> Iterator[Diagnostic]:
    if is_charged and all(budget.operand != BUDGET_EPSILON for budget in budgets):
        message = "no `smalti:budgetEpsilon` is declared, so that no release is possible"
        help_ = "add it to the rule's constraints: the limit on the epsilon of all releases together"
        yield _warning("P615", where, message, help_)
    if not is_charged and budgets:
        word = f"`smalti:{budgets[0].operand.removeprefix(SMALTI)}`"
        message = f"{word} is declared for {what}, which charges no budget: `run` refuses it"
        yield _warning("P616", budgets[0].where, message, "leave it out")


def _unguarded(rule: Permission) -> Iterator[Diagnostic]:
    """Training without noise whose model need not be audited."""
    training = rule.training
    if training is None or training.is_private or any(duty.audit for duty in rule.duties):
        return
    message = "the model is trained without noise, and no audit is required"
    help_ = "add a bound such as `smalti:epsilon`, or a duty to `smalti:audit`"
    yield _warning("P617", training.where, message, help_)


# --- Guarantees that protect little


def _no_model(way: Anonymization) -> Iterator[Diagnostic]:
    """Masking promises nothing; each technique says what it does not protect from."""
    if way.method != MASKING:
        return
    named = {*way.algorithms, *([PSEUDONYMIZATION] if _parameter(way, PSEUDONYM) else [])}
    uncovered = [f"{name}: {text}" for name, text in NOT_COVERED.items() if name in named]
    help_ = f"what is not protected from, by technique: {'; '.join(uncovered)}"
    yield Diagnostic("P626", Severity.NOTE, NO_MODEL, way.where, help=help_)


def _about_data(all_uses: Sequence[Use], target: IRI, facts: DatasetFacts) -> Iterator[Diagnostic]:
    columns = facts.columns_of(target)
    for use in all_uses:
        yield from _too_much(use.way, columns, facts)
        yield from _near_unique(use.way, columns, facts)
        yield from _keys(use.way, columns)
        respondents = [iri for iri, column in columns.items() if column.name == facts.respondent]
        yield from _respondent(use.way, respondents[0] if respondents else None)
    yield from _extremes([use.way for use in all_uses], columns)


def _extremes(ways: Iterable[Anonymization], columns: Columns) -> Iterator[Diagnostic]:
    """Once for a policy: the ends of ranges are values of respondents, unless bounds are public."""
    for way in ways:
        if way.algorithm in {MDAV, ANATOMY}:
            continue
        ranged = [
            columns[reference.iri].name
            for reference in way.quasi_identifiers
            if reference.iri in columns
            and columns[reference.iri].datatype in ORDERED
            and _form_of(way, reference.iri) not in _FIGURES
        ]
        if ranged and Text("region") not in _parameter(way, _LABEL_BOUNDS):
            listed = ", ".join(quoted(name) for name in ranged[:5]) + (", ..." if len(ranged) > 5 else "")
            message = (
                f"the ends of ranges are values of respondents, even the smallest and largest: {listed}"
            )
            help_ = (
                "if this shows too much, declare public bounds of numbers in the description and state"
                " `smalti:labelBounds` `region`, or limit the rows"
            )
            yield Diagnostic("P605", Severity.NOTE, message, way.where, help=help_)
            return


def _form_of(way: Anonymization, iri: IRI) -> object:
    """How values of a column are to be written, as stated for it, or for all; None: nothing is stated."""
    stated: dict[bool, object] = {}
    for comparison, of in parameters_of(way.parameters):
        if comparison.operand == OUTPUT_FORM and (not of or iri in {column.iri for column in of}):
            stated[bool(of)] = next(iter(comparison.values), None)
    return stated.get(True, stated.get(False))


def _too_much(way: Anonymization, columns: Columns, facts: DatasetFacts) -> Iterator[Diagnostic]:
    """Bounds of k and l that no run can meet."""
    if way.k is not None and facts.most_rows is not None and way.k.value > facts.most_rows:
        message = f"k is {way.k.value}, and the data has at most {facts.most_rows} rows"
        yield _warning("P608", way.k.where, message, "lower k: no run can meet it")
    for reference in way.sensitive if way.l is not None else ():
        column = columns.get(reference.iri)
        if way.l is None or column is None or column.most_values is None:
            continue
        if way.l.value > column.most_values:
            message = (
                f"l is {way.l.value}, and the sensitive column {quoted(column.name)} has at most "
                f"{column.most_values} different values"
            )
            yield _warning("P608", way.l.where, message, "lower l: no run can meet it")


def _near_unique(way: Anonymization, columns: Columns, facts: DatasetFacts) -> Iterator[Diagnostic]:
    """Distinct l-diversity is trivial where nearly every row has its own value."""
    kinds = _parameter(way, _DIVERSITY)
    if way.method != L_DIVERSITY or (kinds and Text("distinct") not in kinds):
        return
    for reference in way.sensitive:
        column = columns.get(reference.iri)
        if column is not None and column.is_key:
            message = (
                f"distinct l-diversity says little about {quoted(column.name)}: the description "
                f"{quoted(facts.source)} declares it a key, so each row has its own value"
            )
            yield _warning("P606", reference.where, message, "publish it more coarsely, or not at all")


def _keys(way: Anonymization, columns: Columns) -> Iterator[Diagnostic]:
    """A published key links each row to one row of the data."""
    for reference in (*way.sensitive, *way.unchanged):
        column = columns.get(reference.iri)
        if column is not None and column.is_key:
            message = f"the column {quoted(column.name)} identifies rows, and would be published unchanged"
            yield _warning("P609", reference.where, message, "make it an `identifier`, which is dropped")


def _ways(policy: Policy) -> Iterator[Anonymization]:
    for rule in all_rules(policy.rules):
        if isinstance(rule, Permission | Duty) and rule.anonymization is not None:
            yield rule.anonymization


def _respondent(way: Anonymization, described: IRI | None) -> Iterator[Diagnostic]:
    """A quasi-identifier that identifies the respondent."""
    declared = described if way.respondent is None else way.respondent.iri
    for reference in way.quasi_identifiers:
        if reference.iri == declared:
            fate = "published exactly" if reference in way.unchanged else "generalised"
            message = f"the column {quoted(reference.iri)} identifies the respondent, and is {fate}"
            help_ = "make it an `identifier`: it still identifies respondents, and is dropped"
            yield _warning("P607", reference.where, message, help_)


def _exact(way: Anonymization) -> Iterator[Diagnostic]:
    """Quasi-identifiers that are published as they are: no k follows from such a guarantee."""
    if way.algorithm == ANATOMY:
        message = f"`{ANATOMY}` publishes quasi-identifiers exactly: it promises distinct l, and no k"
        help_ = "name another algorithm if people must not be found in the output"
        yield _warning("P627", way.where, message, help_)


def _undeclared(policy: Policy, dataset: DatasetFacts | None) -> Iterator[Diagnostic]:
    """Rules whose respondents neither the policy nor the description declares."""
    if dataset is not None and (dataset.respondent is not None or dataset.one_row_each):
        return
    for rule in all_rules(policy.rules):
        way = rule.anonymization if isinstance(rule, Permission | Duty) else None
        training = rule.training if isinstance(rule, Permission) else None
        subject = way or training
        if subject is None or subject.respondent is not None or subject.one_row_each:
            continue
        silent = "the policy does not say"
        if dataset is not None:
            silent = f"neither the policy nor {quoted(dataset.source)} says"
        message = f"{silent} which rows are about one person: k would count rows"
        help_ = (
            "declare it, or `run` refuses: `smalti:respondent` `eq` a column or `smalti:oneRowEach`, here,"
            " in the description or in the request"
        )
        severity = Severity.NOTE if dataset is None else Severity.WARNING
        yield Diagnostic("P620", severity, message, subject.where, help=help_)


def _parameter(way: Anonymization, operand: IRI) -> frozenset[object]:
    """The values of a parameter, for any column."""
    lists = [
        comparison.values
        for comparison, _ in parameters_of(way.parameters)
        if comparison.operand == operand
    ]
    return frozenset(value for values in lists for value in values)
