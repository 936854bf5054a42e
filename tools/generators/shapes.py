"""The SHACL shapes of policies, for those who keep them as RDF (`vocab/shapes.ttl`).

They are made from the tables that the parser uses, with SHACL Core alone. They accept whatever the parser
accepts; each message begins with the code of the finding. What needs two values compared, or the text of
the document, the parser reports (`policy.expressible`).
"""

from collections.abc import Iterable
from typing import Final

from generators.editor_schema import PROFILES
from generators.shape_sharing import share
from generators.shape_text import (
    AT_MOST_ONE,
    IS_BLANK,
    NONE,
    PREFIXES,
    SOME,
    along,
    any_of,
    any_path,
    at,
    check,
    contains,
    either,
    exactly_one_of,
    foreign,
    inverse,
    listed,
    message,
    never,
    one_of,
    optional,
    shape,
    spelled,
    spellings,
    text,
    with_property,
)
from generators.shape_words import refinement_shapes, word_shapes
from smalti.policy.document.spellings import escape
from smalti.policy.read.properties import Place
from smalti.vocab.odrl import (
    ACTION_PARENTS,
    CONFLICT_STRATEGIES,
    LEFT_OPERANDS,
    LOGICAL_OPERANDS,
    OPERATORS,
)
from smalti.vocab.purposes import PURPOSES
from smalti.vocab.terms import (
    ACTION,
    AGREEMENT,
    ASSIGNEE,
    ASSIGNER,
    CONFLICT,
    CONSEQUENCE,
    CONSTRAINT,
    DUTY,
    INCLUDED_IN,
    INHERIT_FROM,
    IS_REPLACED_BY,
    LEFT_OPERAND,
    MAKING,
    OBLIGATION,
    ODRL,
    OFFER,
    OPERATOR,
    OUTPUT,
    PERMISSION,
    POLICY,
    PROFILE,
    PROHIBITION,
    PURPOSE,
    RDF_VALUE,
    REFINEMENT,
    REMEDY,
    RIGHT_OPERAND,
    RIGHT_OPERAND_REFERENCE,
    SET,
    SOURCE,
    TARGET,
)
from smalti.vocab.words import WORDS, Kind

_TYPES: Final = (SET, POLICY, OFFER, AGREEMENT)
_RULES: Final = {
    Place.PERMISSION: ((PERMISSION,), "Permission"),
    Place.PROHIBITION: ((PROHIBITION,), "Prohibition"),
    Place.DUTY: ((DUTY, OBLIGATION), "Duty"),
    Place.REMEDY: ((REMEDY,), "Duty"),
    Place.CONSEQUENCE: ((CONSEQUENCE,), "Duty"),
}
_NESTED: Final = (DUTY, REMEDY, CONSEQUENCE, OBLIGATION)
_LOGICAL: Final = tuple(ODRL + name for name in sorted(LOGICAL_OPERANDS))
_IS_NODE: Final = "sh:nodeKind sh:BlankNodeOrIRI"


def shapes() -> str:
    """The whole document, in Turtle."""
    parts = [
        PREFIXES,
        *_policy(),
        *(part for place in _RULES for part in _rule(place)),
        *_actions(),
        *_assets(),
        *_conditions(),
        *word_shapes(),
        *refinement_shapes(),
    ]
    return share("\n\n".join(parts) + "\n")


def _objects_of(*properties: str) -> list[str]:
    return [f"sh:targetObjectsOf {name}" for name in spellings(*properties)]


def _subjects_of(*properties: str) -> list[str]:
    return [f"sh:targetSubjectsOf {name}" for name in spellings(*properties)]


def _closed(name: str, targets: list[str], place: Place, *also: str) -> str:
    """A shape that allows a place's properties, and those that other checks speak of."""
    properties = sorted({*place.understood, *place.later, *also})
    body = f"sh:closed true ; sh:ignoredProperties {listed(['rdf:type', *spellings(*properties)])}"
    if place in {Place.ACTION, Place.CONSTRAINT}:  # anybody may say more about a word
        body = any_of("sh:nodeKind sh:IRI", body)
    return shape(name, targets, [body, message("P309")])


def _later(place: Place) -> list[str]:
    return [check("P390", either(*sorted(place.later)), NONE)] if place.later else []


# --- Policies


def _policy() -> Iterable[str]:
    rules = (PERMISSION, PROHIBITION, OBLIGATION)
    targets = [
        *(f"sh:targetClass {name}" for name in spellings(*_TYPES)),
        *_subjects_of(*rules, PROFILE, CONFLICT, INHERIT_FROM),
    ]
    strategies = [ODRL + name for name in sorted(CONFLICT_STRATEGIES)]
    nested = [name for name in _NESTED if name not in Place.POLICY.understood]
    yield shape(
        "PolicyShape",
        targets,
        [
            check("P301", "rdf:type", one_of(*_TYPES)),
            check("P302", either(*rules, INHERIT_FROM), SOME),
            check("P304", either(CONFLICT), AT_MOST_ONE),
            check("P314", either(*rules), _IS_NODE),
            check("P315", either(CONFLICT), one_of(*strategies)),
            check("P317", either(PROFILE), one_of(*PROFILES)),
            check("P318", either(IS_REPLACED_BY), NONE),
            check("P322", either(*nested), NONE),
            check("P418", either(OUTPUT), NONE),
            *_later(Place.POLICY),
        ],
    )
    yield _closed("PolicyProperties", targets, Place.POLICY, *nested, OUTPUT)


# --- Rules


def _rule(place: Place) -> Iterable[str]:
    properties, kind = _RULES[place]
    name, targets = place.name.capitalize(), _objects_of(*properties)
    nested = [nested for nested in _NESTED if nested not in place.understood]
    foreign_purpose = any_of(one_of(*sorted(PURPOSES)), foreign())
    checks = [
        check("P320", "rdf:type", one_of(ODRL + kind, ODRL + "Rule")),
        check("P322", either(*nested), NONE),
        check("P314", either(TARGET, ASSIGNEE, ASSIGNER, OUTPUT, ACTION), _IS_NODE),
        check("P415", either(PURPOSE), foreign_purpose),
        check("P303", _said(ACTION, properties), SOME),
        *_later(place),
    ]
    yield shape(f"{name}Shape", targets, checks)
    yield from _output(place, name, targets)
    yield _closed(f"{name}Properties", targets, place, *nested, OUTPUT)


def _said(part: str, properties: tuple[str, ...]) -> str:
    """The path to what a rule says, or its policy for all rules, or perhaps a policy above that."""
    policy = inverse(either(*properties))
    return any_path(*spellings(part), along(policy, either(part)), along(policy, either(INHERIT_FROM)))


def _output(place: Place, name: str, targets: list[str]) -> Iterable[str]:
    """What is said of the asset that a rule makes."""
    makes = contains(along(either(ACTION), optional(either(RDF_VALUE))), one_of(*sorted(MAKING)))
    no_action, no_output = at(either(ACTION), NONE), at(either(OUTPUT), NONE)
    if OUTPUT not in place.understood:
        yield shape(f"{name}Output", targets, [check("P418", either(OUTPUT), NONE)])
        return
    yield shape(f"{name}Output", targets, [any_of(makes, no_action, no_output), message("P418")])
    if place is not Place.PERMISSION:
        return
    yield shape(
        f"{name}OutputMissing",
        targets,
        [any_of(never(makes), at(either(OUTPUT), SOME)), message("P414")],
    )
    bare = check("P411", either(ACTION), never(one_of(*sorted(MAKING))))
    itself = check("P413", spelled(OUTPUT), f"sh:disjoint {spelled(TARGET)}")
    yield shape(f"{name}Making", targets, [bare, itself])


def _actions() -> Iterable[str]:
    targets = _objects_of(ACTION)
    actions = one_of(*sorted(ACTION_PARENTS))
    defined = at(either(INCLUDED_IN), SOME)
    refined = with_property(either(RDF_VALUE), SOME)
    yield shape(
        "ActionShape",
        targets,
        [any_of(actions, defined, IS_BLANK, "sh:nodeKind sh:Literal"), message("P305")],
    )
    refinement = at(either(REFINEMENT), NONE)
    yield shape("RefinedActionShape", targets, [any_of(refinement, refined), message("P303")])
    yield shape(
        "ActionValueShape",
        targets,
        [
            check("P313", either(RDF_VALUE), "sh:nodeKind sh:IRI"),
            check("P305", either(RDF_VALUE), any_of("sh:nodeKind sh:Literal", actions, defined)),
            check("P304", either(RDF_VALUE), AT_MOST_ONE),
            check(
                "P320",
                "rdf:type",
                any_of(one_of(ODRL + "Action"), never(f"sh:pattern {text('^' + escape(ODRL))}")),
            ),
        ],
    )
    yield _closed("ActionProperties", targets, Place.ACTION)
    named = [f"sh:targetNode {name}" for name in spellings(*sorted(ACTION_PARENTS))]
    yield shape("NamedActionShape", named, [check("P312", either(REFINEMENT), NONE)])


# --- Assets and parties


def _assets() -> Iterable[str]:
    for place, parts in ((Place.ASSET, (TARGET, OUTPUT)), (Place.PARTY, (ASSIGNEE, ASSIGNER))):
        name, targets = place.name.capitalize(), _objects_of(*parts)
        allowed = [ODRL + name, f"{ODRL}{name}Collection"]
        types = any_of(one_of(*allowed), never(f"sh:pattern {text('^' + escape(ODRL))}"))
        yield shape(f"{name}Shape", targets, [check("P320", "rdf:type", types)])
        source = at(either(SOURCE), SOME)
        refined = any_of(at(either(REFINEMENT), NONE), source)
        yield shape(f"{name}RefinedShape", targets, [refined, message("P327")])
        nameless = any_of(at(either(SOURCE), NONE), at(either(REFINEMENT), NONE), IS_BLANK)
        yield shape(f"{name}SourceShape", targets, [nameless, message("P326")])
        yield _closed(f"{name}Properties", targets, place)


# --- Constraints and refinements


def _conditions() -> Iterable[str]:
    members = [ODRL + "and", ODRL + "or", ODRL + "xone"]
    targets = _objects_of(CONSTRAINT, REFINEMENT)
    parts = [with_property(either(part), SOME) for part in (LEFT_OPERAND, OPERATOR, RIGHT_OPERAND)]
    logical = [with_property(either(operator), SOME) for operator in _LOGICAL]
    fetched = with_property(either(RIGHT_OPERAND_REFERENCE), SOME)
    complete = exactly_one_of(" ; ".join(parts), *logical, fetched)
    operands = [ODRL + name for name in sorted(LEFT_OPERANDS)]
    words = [term.iri for term in WORDS if term.kind in {Kind.REFINEMENT, Kind.CONSTRAINT}]
    # Operands of logical constraints may be lists, whose members the parser checks.
    yield shape("ConditionShape", targets, [complete, message("P308")])
    all_targets = [*targets, *_objects_of(*members)]
    yield shape(
        "ComparisonShape",
        all_targets,
        [
            check("P304", either(LEFT_OPERAND), AT_MOST_ONE),
            check("P304", either(OPERATOR), AT_MOST_ONE),
            check("P306", either(OPERATOR), one_of(*(ODRL + name for name in sorted(OPERATORS)))),
            check("P307", either(LEFT_OPERAND), any_of(one_of(*words, *operands), foreign())),
            check("P321", either(RIGHT_OPERAND_REFERENCE), NONE),
            *_later(Place.CONSTRAINT),
        ],
    )
    yield _closed("ConditionProperties", targets, Place.CONSTRAINT, RIGHT_OPERAND_REFERENCE)
    refinements = [term.iri for term in WORDS if term.kind is Kind.REFINEMENT]
    misplaced = check("P419", either(LEFT_OPERAND), never(one_of(*refinements)))
    yield shape("ConstraintShape", _objects_of(CONSTRAINT), [misplaced])
