"""All hierarchies of a decision: parties, assets, actions, purposes, columns and declared words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from smalti.errors import PolicyError
from smalti.policy.decide.hierarchy import Hierarchy, Pairs, Relations, Spelling
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.iris import normalised_iri
from smalti.policy.model.model import Membership, Policy
from smalti.vocab import markets
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.odrl import ACTION_PARENTS
from smalti.vocab.purposes import BROADER, EXACT_MATCHES
from smalti.vocab.terms import DPV_ODRL, IRI, MOSAICROWN, ODRL, SMALTI

_NONE: Final[frozenset[IRI]] = frozenset()
OWN_PROFILES: Final = frozenset({IRI(MOSAICROWN), IRI(SMALTI), IRI(DPV_ODRL), IRI(ODRL + "core")})
"""The profiles whose words smalti itself defines."""


# --- All kinds


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a data market declares about its own concepts, of each kind."""

    parties: Relations = field(default_factory=Relations)
    assets: Relations = field(default_factory=Relations)
    actions: Relations = field(default_factory=Relations)
    purposes: Relations = field(default_factory=Relations)
    operands: frozenset[IRI] = frozenset()
    """Left operands of its own: facts that are stated under them count."""
    columns: tuple[tuple[IRI, IRI], ...] = ()
    """Pairs of a table and a column of it."""
    profiles: frozenset[IRI] = frozenset()
    """Profiles that it defines."""
    declared: tuple[OperandDeclaration, ...] = ()
    """What it says of those operands of which it says more than that they are operands."""
    values: Relations = field(default_factory=Relations)
    """Of the concepts that are values of operands."""
    schemes: tuple[tuple[IRI, IRI], ...] = ()
    """Pairs of such a concept and a scheme that it is in."""
    notations: tuple[tuple[IRI, str], ...] = ()
    """Pairs of such a concept and the text that stands for it."""
    functions: tuple[tuple[IRI, IRI], ...] = ()
    """Pairs of a property of rules and the one of ODRL that it is a case of."""

    def __add__(self, other: "Vocabulary") -> "Vocabulary":
        return Vocabulary(
            parties=self.parties + other.parties,
            assets=self.assets + other.assets,
            actions=self.actions + other.actions,
            purposes=self.purposes + other.purposes,
            operands=self.operands | other.operands,
            columns=self.columns + other.columns,
            profiles=self.profiles | other.profiles,
            declared=self.declared + other.declared,
            values=self.values + other.values,
            schemes=self.schemes + other.schemes,
            notations=self.notations + other.notations,
            functions=self.functions + other.functions,
        )

    @property
    def changes_policies(self) -> bool:
        """Whether it determines how policies are read, and not only what they are held against."""
        return bool(self.profiles or self.declared or self.actions.concepts or self.functions)


@dataclass(frozen=True, slots=True)
class Scheme:
    """The concepts of one concept scheme."""

    concepts: frozenset[IRI] = frozenset()
    by_notation: Mapping[str, IRI] = field(default_factory=dict)
    """By the text that stands for a concept; without texts that stand for several."""


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchies:
    """The hierarchy of each kind of concept that a rule may name, and what is declared besides."""

    parties: Hierarchy
    """Closed: a party that no group is known of is in no group."""
    assets: Hierarchy
    """Closed, likewise."""
    actions: Hierarchy
    purposes: Hierarchy
    operands: frozenset[IRI] = frozenset()
    """Left operands that a vocabulary declares, as `normalised_column` spells them; none of ODRL's or of
    the profile's."""
    columns: Mapping[IRI, frozenset[IRI]] = field(default_factory=dict)
    """Of each table the columns that a vocabulary declares, in the same spelling."""
    profiles: frozenset[IRI] = frozenset()
    """The profiles that are known."""
    declarations: Mapping[IRI, OperandDeclaration] = field(default_factory=dict)
    """By operand, as `operands` spells them: without those that two vocabularies declare differently."""
    disputed: frozenset[IRI] = frozenset()
    """Those, in the same spelling, and the properties of rules that two declare as cases of others."""
    counts: tuple[IRI, ...] = ()
    """The operands among them whose values the registry counts."""
    values: Hierarchy = field(default_factory=Hierarchy)
    """Of the concepts that are values of declared operands."""
    schemes: Mapping[IRI, Scheme] = field(default_factory=dict)
    functions: Mapping[IRI, IRI] = field(default_factory=dict)
    """By a declared property of rules: the one of ODRL that it is a case of; none where two differ."""

    def declaration(self, operand: IRI) -> OperandDeclaration | None:
        """What is declared of a left operand; None: no more than that it is one, or nothing."""
        return self.declarations.get(normalised_column(operand))

    def scheme_of(self, declaration: OperandDeclaration) -> Scheme:
        """The concepts that an operand is compared with."""
        nothing = Scheme()
        return nothing if declaration.scheme is None else self.schemes.get(declaration.scheme, nothing)

    @classmethod
    def standard(cls) -> "Hierarchies":
        """ODRL's and the profile's actions, DPV's and MOSAICrOWN's purposes; no parties, no assets.

        The shipped vocabularies of data spaces count, too.
        """
        purposes = Relations(_pairs(BROADER), tuple(EXACT_MATCHES.items()), frozenset(BROADER))
        actions = Relations(_pairs(ACTION_PARENTS), (), frozenset(ACTION_PARENTS))
        return cls(
            parties=Hierarchy(is_closed=True, spelling=Spelling(normalised_iri)),
            assets=Hierarchy(is_closed=True, spelling=Spelling(normalised_column, is_kept=True)),
            actions=Hierarchy(actions),
            purposes=Hierarchy(purposes, spelling=Spelling(normalised_iri)),
            profiles=markets.PROFILES | OWN_PROFILES,
            declarations={normalised_column(iri): its for iri, its in markets.OPERANDS.items()},
        )

    def with_(self, *vocabularies: Vocabulary) -> "Hierarchies":
        """These hierarchies with a data market's own.

        Raises:
            PolicyError: a standard action or purpose would get a broader one, or become one with another
                one: that would widen what other policies grant.
        """
        both = self.with_all(*vocabularies)
        _check_standard("action", self.actions, both.actions)
        _check_standard("purpose", self.purposes, both.purposes)
        return both

    def with_all(self, *vocabularies: Vocabulary) -> "Hierarchies":
        """These hierarchies with those of several parties, who may contradict each other.

        Where together they would change a standard action or purpose, all that they say of actions, or of
        purposes, is disputed: it includes nothing for certain (`Hierarchy.disputed`).
        """
        added = sum(vocabularies, start=Vocabulary())
        declarations, of_operands = _with_declarations(self, added.declared)
        functions, of_functions = _with_functions(self, added.functions)
        return Hierarchies(
            parties=self.parties.with_(added.parties),
            assets=self.assets.with_(added.assets),
            actions=_undisputed("action", self.actions, self.actions.with_(added.actions)),
            purposes=_undisputed("purpose", self.purposes, self.purposes.with_(added.purposes)),
            operands=self.operands.union(map(normalised_column, added.operands)),
            columns=_with_columns(self.columns, added.columns),
            profiles=self.profiles | added.profiles,
            declarations=declarations,
            disputed=of_operands | of_functions,
            counts=tuple(its.iri for its in declarations.values() if its.kind is OperandKind.COUNT),
            values=self.values.with_(added.values),
            schemes={**self.schemes, **_schemes(added)},
            functions=functions,
        )

    def of_policy(self, policy: Policy) -> "Hierarchies":
        """These hierarchies with what a policy's document says of assets, parties and actions."""
        return self.of_policies((policy,))

    def of_policies(self, policies: Sequence[Policy]) -> "Hierarchies":
        """These hierarchies with what the documents of some policies say, all together."""
        inclusions = dict.fromkeys(inclusion for policy in policies for inclusion in policy.inclusions)
        actions = tuple((inclusion.action, inclusion.broader) for inclusion in inclusions)
        within = self.with_members(
            dict.fromkeys(membership for policy in policies for membership in policy.memberships)
        )
        return replace(within, actions=self.actions.with_members(actions)) if actions else within

    def with_members(self, memberships: Iterable[Membership]) -> "Hierarchies":
        """These hierarchies with the memberships of a policy, of assets and of parties."""
        of_parties: list[tuple[IRI, IRI]] = []
        of_assets: list[tuple[IRI, IRI]] = []
        for membership in memberships:
            (of_parties if membership.of_parties else of_assets).append(
                (membership.member, membership.collection)
            )
        if not (of_parties or of_assets):
            return self
        parties = self.parties.with_members(tuple(of_parties)) if of_parties else self.parties
        assets = self.assets.with_members(tuple(of_assets)) if of_assets else self.assets
        return replace(self, parties=parties, assets=assets)


def _with_columns(declared: Mapping[IRI, frozenset[IRI]], added: Pairs) -> Mapping[IRI, frozenset[IRI]]:
    columns = dict(declared)
    for table, column in added:
        for name in {table, normalised_column(table)}:
            columns[name] = columns.get(name, _NONE) | {normalised_column(column)}
    return columns


def _with_declarations(
    before: Hierarchies, added: Iterable[OperandDeclaration]
) -> tuple[Mapping[IRI, OperandDeclaration], frozenset[IRI]]:
    """The declarations by operand, and the operands that are declared differently."""
    declarations, disputed = dict(before.declarations), set(before.disputed)
    for declaration in added:
        operand = normalised_column(declaration.iri)
        if declarations.setdefault(operand, declaration) != declaration:
            disputed.add(operand)
    return {iri: its for iri, its in declarations.items() if iri not in disputed}, frozenset(disputed)


def _with_functions(before: Hierarchies, added: Pairs) -> tuple[Mapping[IRI, IRI], frozenset[IRI]]:
    """The properties of rules, and those that are declared as cases of different ones: none of these."""
    functions, disputed = dict(before.functions), set(before.disputed)
    for word, whole in added:
        if functions.setdefault(word, whole) != whole:
            disputed.add(word)
    return {word: whole for word, whole in functions.items() if word not in disputed}, frozenset(disputed)


def _schemes(added: Vocabulary) -> Mapping[IRI, Scheme]:
    texts: dict[IRI, list[str]] = {}
    for concept, text in added.notations:
        texts.setdefault(concept, []).append(text)
    concepts: dict[IRI, set[IRI]] = {}
    by_text: dict[IRI, dict[str, set[IRI]]] = {}
    for concept, scheme in added.schemes:
        concepts.setdefault(scheme, set()).add(concept)
        for text in texts.get(concept, ()):
            by_text.setdefault(scheme, {}).setdefault(text, set()).add(concept)
    return {
        scheme: Scheme(
            frozenset(members),
            {text: min(named) for text, named in by_text.get(scheme, {}).items() if len(named) == 1},
        )
        for scheme, members in concepts.items()
    }


def _pairs(table: Mapping[IRI, tuple[IRI, ...]]) -> tuple[tuple[IRI, IRI], ...]:
    return tuple((low, high) for low, above in table.items() for high in above)


def _undisputed(kind: str, before: Hierarchy, after: Hierarchy) -> Hierarchy:
    return after if _redefinition(kind, before, after) is None else after.disputed(before)


def _check_standard(kind: str, before: Hierarchy, after: Hierarchy) -> None:
    if (problem := _redefinition(kind, before, after)) is not None:
        raise problem


def _redefinition(kind: str, before: Hierarchy, after: Hierarchy) -> PolicyError | None:
    """The problem of a hierarchy that changes a standard concept; None: it changes none."""
    standard = (STANDARD.actions if kind == "action" else STANDARD.purposes).relations.concepts
    names: dict[IRI, IRI] = {}
    for iri in sorted(standard & before.relations.concepts if after is not before else ()):
        other = names.setdefault(after.concept(iri), before.concept(iri))
        if other != before.concept(iri):
            return PolicyError(
                "the data market's vocabulary",
                f"it makes the standard {kind}s `{other}` and `{iri}` one concept",
                f"own names for at most one standard {kind}",
            )
        if after.broader(iri) != {after.concept(above) for above in before.broader(iri)}:
            return PolicyError(
                "the data market's vocabulary",
                f"it puts the standard {kind} `{iri}` under another {kind}",
                f"own {kind}s that are narrower than standard ones",
                f"leave it out: permissions for that {kind} would permit more than they state",
            )
    return None


STANDARD: Final = Hierarchies.standard()
"""The hierarchies of the shipped vocabularies, which every policy may use."""
