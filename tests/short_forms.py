"""Random policies in the short form, all of them valid."""

from hypothesis import strategies as st

from smalti.policy.short.plain import NOWHERE, array, plain_object, text_value
from smalti.policy.text.json_text import JsonNamed, JsonNumber, JsonObject, JsonValue

TABLE = "http://example.com/visits"
NAMES = (
    "ZIP",
    "no",
    "2020",
    "born on",
    "a:b",
    "Größe",
    "x/y",
    "-",
    "true",
    "100%",
    "'",
    '"',
    "1e3",
    "#",
    "~",
)
PARTIES = ("http://example.com/party/ann", "http://example.com/party/bob", "did:web:example.com")
Words = dict[str, JsonValue]


def number(text: str) -> JsonNumber:
    return JsonNumber(text, NOWHERE)


def words(content: dict[str, JsonValue | str | int]) -> Words:
    """Words with texts and whole numbers as they are."""
    return {
        word: text_value(value) if isinstance(value, str) else number(str(value)) if isinstance(value, int)
        else value
        for word, value in content.items()
    }  # fmt: skip


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[JsonValue], ...]:
    """Disjoint lists of columns: quasi-identifiers, sensitive, identifiers, released."""
    names = draw(st.permutations(NAMES))
    cuts = [draw(st.integers(1, 3)), *(draw(st.integers(0, 2)) for _ in range(3))]
    lists: list[list[JsonValue]] = []
    for cut in cuts:
        lists.append([text_value(name) for name in names[:cut]])
        names = names[cut:]
    return tuple(lists)


@st.composite
def bounds(draw: st.DrawFn, least: int) -> JsonValue:
    value = number(str(draw(st.integers(least, 50))))
    operator = draw(st.sampled_from(("", "exactly", "at-least")))
    return plain_object({operator: value}) if operator else value


@st.composite
def anonymize(draw: st.DrawFn) -> Words:
    quasi, sensitive, identifiers, released = draw(columns())
    rule = words({"k": draw(bounds(2)), "method": "k-anonymity"})
    if sensitive and draw(st.booleans()):
        rule |= words({"method": "l-diversity", "k": 50, "l": draw(bounds(2))})
    rule["quasi-identifiers"] = array(quasi)
    lists = {"sensitive": sensitive, "identifiers": identifiers, "released": released}
    rule |= {word: array(named) for word, named in lists.items() if named}
    if draw(st.booleans()):
        rule["one-row-each"] = JsonNamed(True, NOWHERE)
    if draw(st.booleans()):
        rule |= words({"partitioning": "relaxed", "suppression-limit": number("0.05")})
        rule["per-column"] = plain_object(
            {
                quasi[0].text if hasattr(quasi[0], "text") else "": plain_object(
                    words({"output-form": "set"})
                )
            }
        )
    return rule | words({"output": "http://example.com/published"})


@st.composite
def release(draw: st.DrawFn) -> Words:
    groups, measures, _, _ = draw(columns())
    rule = words({"method": "differential-privacy"})
    rule |= words({draw(st.sampled_from(("epsilon", "posterior-belief"))): number("0.75")})
    # A mean is of a column.
    rule["statistics"] = array([text_value(name) for name in ("count", "mean")[: 2 if measures else 1]])
    rule["group-by"] = array(groups)
    if measures:
        rule["measures"] = array(measures)
    rule["budget-epsilon"] = number(draw(st.sampled_from(("3", "0.10", "1e1"))))
    return rule | words({"output": "http://example.com/statistics"})


def training() -> st.SearchStrategy[Words]:
    duty = words({"attack-advantage": number("0.3"), "attacks": array([text_value("loss")])})
    return st.just(
        words(
            {"recipe": "mlp-128", "label-column": "no", "epochs": 3, "output": "http://example.com/model"}
        )
        | {"duty": plain_object(duty)}
    )


@st.composite
def uses(draw: st.DrawFn) -> Words:
    return words({"action": draw(st.sampled_from(("read", "print", "sell", "odrl:use", "distribute")))})


@st.composite
def limits(draw: st.DrawFn) -> Words:
    """Purposes, rows and constraints of a rule."""
    rule: Words = {}
    if draw(st.booleans()):
        rule["purpose"] = draw(
            st.sampled_from(
                (
                    text_value("statistical"),
                    array([text_value("marketing"), text_value("dpv:ServiceProvision")]),
                    text_value("http://example.com/purpose/own"),
                )
            )
        )
    if draw(st.booleans()):
        compared = plain_object(
            {"at-least": number("18"), "below": draw(st.sampled_from((number("90.5"), number("1e2"))))}
        )
        rule["rows"] = plain_object({draw(st.sampled_from(NAMES)): compared})
    if draw(st.booleans()):
        day = text_value(draw(st.sampled_from(("2026-01-01", "2026-01-01T10:00:00Z"))))
        either = array(
            [
                plain_object({"dateTime": plain_object({"below": day})}),
                plain_object({"count": plain_object({"at-most": number("5")})}),
                plain_object({"recipient": plain_object({"iri": text_value(PARTIES[0])})}),
            ]
        )
        rule["constraints"] = array([plain_object({draw(st.sampled_from(("or", "xone", "and"))): either})])
    return rule


@st.composite
def permissions(draw: st.DrawFn) -> Words:
    return draw(st.one_of(anonymize(), release(), training(), uses())) | draw(limits())


@st.composite
def prohibitions(draw: st.DrawFn) -> Words:
    rule: Words = (
        {"columns": array([text_value(draw(st.sampled_from(NAMES)))])} if draw(st.booleans()) else {}
    )
    rule |= draw(st.one_of(st.just(dict[str, JsonValue]()), uses())) | draw(limits())
    if draw(st.booleans()):
        rule["remedy"] = plain_object(words({"action": "inform"}))
    return rule or words({"action": "sell"})


@st.composite
def parts(draw: st.DrawFn) -> Words:
    rule: Words = {}
    if draw(st.booleans()):
        rule |= words({"party": draw(st.sampled_from(PARTIES))})
    if draw(st.booleans()):
        rule["owner"] = array([text_value(party) for party in PARTIES[:2]])
    return rule


@st.composite
def short_forms(draw: st.DrawFn) -> JsonObject:
    """A policy with one permission at the top, or with several in a list, and with prohibitions."""
    policy = words({"target": TABLE}) | draw(parts())
    if draw(st.booleans()):
        policy |= words({"policy": "http://example.com/policy/1"})
    if draw(st.booleans()):
        policy |= words({"conflict": draw(st.sampled_from(("perm", "invalid", "prohibit")))})
    if draw(st.booleans()):
        sides = draw(st.sampled_from((("from",), ("until",), ("from", "until"))))
        days = {
            "from": "2026-01-01",
            "until": draw(st.sampled_from(("2026-12-31", "2026-12-31T10:00:00Z"))),
        }
        policy["valid"] = plain_object({side: text_value(days[side]) for side in sides})
    if draw(st.booleans()):
        policy |= draw(permissions())
    else:
        rules = draw(st.lists(permissions(), min_size=1, max_size=2))
        policy["permit"] = array(plain_object(rule | draw(parts())) for rule in rules)
    forbidden = draw(st.lists(prohibitions(), max_size=2))
    if forbidden:
        policy["prohibit"] = array(plain_object(rule | draw(parts())) for rule in forbidden)
    return plain_object(policy)
