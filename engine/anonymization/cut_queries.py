"""The queries of the first cuts, in the SQL that the engines share.

They are put together from names and whole numbers of ours; nothing from data or policies is in them.
Each looks at all partitions at once: on a cluster a query costs more than what it looks at.

FACTS   is what is cut: `node`, codes `q0`, `q1`, ..., where there are respondents `u`, for each sensitive
        column `v0`, `v1`, ..., for retained columns that are told apart `r0`, ..., where values are
        weighed in `t` all rows of the respondent, and in `n` the rows with exactly these.
LINE    is a part of it laid out: `line` (a partition and one of its attributes), the others of its columns,
        and in `p` the place of each fact along the attribute.
PLACES  says where the values of attributes without an order stand: `along` (a line), `code` and `p`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from smalti.engine.anonymization.sides import Window

FACTS: Final = "facts"
LINE: Final = "line"
PLACES: Final = "places"
HASHES: Final = 2**31 - 1
"""A prime."""
_FACTOR: Final = 742938285


class Line(NamedTuple):
    """A partition, and the attribute along which it is examined."""

    node: int
    attribute: int


class Division(NamedTuple):
    """A cut of one partition."""

    node: int
    attribute: int
    line: int
    """-1 where the attribute has an order."""
    place: int
    """Of the last values on the left."""
    new: int
    """The node of what is on the right."""


def shapes(columns: Sequence[str], ordered: Sequence[bool], others: Sequence[str]) -> str:
    """Of each partition its distinct tuples; of each attribute the extremes, or 1 and how many values."""
    source = FACTS
    if others:
        source = f"(SELECT DISTINCT node, {', '.join(columns)} FROM {FACTS}) AS d"
    ends = [
        f"min({q}) AS low{i}, max({q}) AS high{i}"
        if is_ordered
        else f"1 AS low{i}, count(DISTINCT {q}) AS high{i}"
        for i, (q, is_ordered) in enumerate(zip(columns, ordered, strict=True))
    ]
    return f"SELECT node, count(*) AS tuples, {', '.join(ends)} FROM {source} GROUP BY node"


def most_held(v: str) -> str:
    """How many respondents hold the value of a sensitive column that most hold, and how many there are."""
    holders = f"SELECT count(DISTINCT u) AS n FROM {FACTS} GROUP BY {v}"
    people = f"SELECT count(DISTINCT u) FROM {FACTS}"
    return f"SELECT max(n) AS held, ({people}) AS people FROM ({holders}) AS d"


def weights(columns: Sequence[str], nodes: Sequence[int]) -> str:
    """Of each attribute `a` of some partitions: how many of its values, `n`, have `w` rows."""
    attribute = " + ".join(f"{i} * (1 - GROUPING({q}))" for i, q in enumerate(columns))
    sets = ", ".join(f"(node, {q})" for q in columns)
    listed = ", ".join(map(str, nodes))
    return (
        "SELECT node, a, w, count(*) AS n FROM ("
        f"SELECT node, {attribute} AS a, CAST(sum(n) AS BIGINT) AS w FROM {FACTS} "
        f"WHERE node IN ({listed}) GROUP BY GROUPING SETS ({sets})) AS d GROUP BY node, a, w"
    )


class Layout:
    """Lines through the facts, each examined by itself."""

    def __init__(
        self,
        lines: Mapping[int, Line],
        ordered: Sequence[bool],
        others: Sequence[str],
        *,
        has_totals: bool = False,
    ) -> None:
        """Choose lines.

        Args:
            lines: by number.
            ordered: of each attribute, whether its values have an order.
            others: the columns of the facts that are no codes, but `node`, `t` and `n`.
            has_totals: the facts have the column `t`.
        """
        self._others = others
        self._totals = ["t"] * has_totals
        self._code = _chosen(len(ordered))
        self._lines = _lines(lines)
        self._unordered = {number: line for number, line in lines.items() if not ordered[line.attribute]}

    @property
    def places(self) -> str | None:
        """A query for `PLACES`, where it is needed: values stand by falling weight, then by code."""
        if not self._unordered:
            return None
        weighed = (
            f"SELECT line AS along, {self._code} AS code, sum(n) AS w "
            f"FROM {FACTS} JOIN lines ON node = home GROUP BY line, {self._code}"
        )
        ranked = "row_number() OVER (PARTITION BY along ORDER BY w DESC, code)"
        return f"WITH {_lines(self._unordered)} SELECT along, code, {ranked} AS p FROM ({weighed}) AS d"

    def steps(self, windows: Mapping[int, Window], shift: int) -> str:
        """The rows in each step of 2^shift places."""
        return (
            f"{self._clamped(windows, [])} SELECT line, p >> {shift} AS p, CAST(sum(n) AS BIGINT) AS n "
            f"FROM clamped GROUP BY line, p >> {shift}"
        )

    def counts(self, windows: Mapping[int, Window], k: int) -> str:
        """By `kind`, line and place (and value `v`, for holders) how many there are in `n`.

        Rows are counted at each place; respondents, values of each sensitive column, and holders of each
        of these where they begin and, in the next kind, where they end. Holders are counted of values
        that at least k of the partition's respondents have.
        """
        values = [v for v in self._others if v != "u"]
        holders = [(v, "u") for v in values if "u" in self._others]
        sets = [("p",), *((name,) for name in self._others), *holders]
        listed = ", ".join(f"(line, {', '.join(names)})" for names in sets)
        columns = ["p", *self._others]
        kind = " + ".join(f"{2 << i} * (1 - GROUPING({name}))" for i, name in enumerate(columns))
        held = ", ".join(str(self.kind(*names)) for names in holders)
        value = (
            f"CASE WHEN {kind} IN ({held}) THEN coalesce({', '.join(values)}) ELSE 0 END" if held else "0"
        )
        place = "CASE side WHEN 0 THEN low ELSE high END"
        number = f"CASE kind WHEN {self.kind('p')} THEN n ELSE 1 END"
        query = (
            f"{self._clamped(windows, self._others)}, "
            f"things AS (SELECT {kind} AS kind, line, {value} AS v, min(p) AS low, max(p) AS high, "
            f"sum(n) AS n FROM clamped GROUP BY GROUPING SETS ({listed})), "
            f"sides(side) AS (VALUES (0), (1)), "
            f"counted AS (SELECT kind + side AS kind, line, {place} AS p, v, "
            f"CAST(sum({number}) AS BIGINT) AS n FROM things CROSS JOIN sides "
            f"GROUP BY kind + side, line, {place}, v)"
        )
        if not held:
            return f"{query} SELECT kind, line, p, v, n FROM counted"
        total = "sum(n) OVER (PARTITION BY kind, line, v)"
        return (
            f"{query} SELECT kind, line, p, v, n FROM (SELECT *, {total} AS total FROM counted) AS d "
            f"WHERE total >= {k} OR kind - kind % 2 NOT IN ({held})"
        )

    def weights(self, windows: Mapping[int, Window], v: str) -> str:
        """The rows at each place, by value of a sensitive column and by `t`, all rows of a respondent."""
        columns = [v, *self._totals]
        listed = ", ".join(columns)
        t = "t" if self._totals else "CAST(1 AS BIGINT) AS t"
        return (
            f"{self._clamped(windows, columns)} SELECT line, p, {v} AS v, {t}, CAST(sum(n) AS BIGINT) AS n "
            f"FROM clamped GROUP BY line, p, {listed}"
        )

    def weights_of_sides(self, cuts: Mapping[int, int], v: str) -> str:
        """Likewise of each `side` of cuts."""
        side = "CASE WHEN p > place THEN 1 ELSE 0 END"
        listed = ", ".join([v, *self._totals])
        t = "t" if self._totals else "CAST(1 AS BIGINT) AS t"
        return (
            f"{self._laid_out}, {_values('candidates', ('candidate', 'place'), cuts.items())} "
            f"SELECT line, {side} AS side, {v} AS v, {t}, CAST(sum(n) AS BIGINT) AS n "
            f"FROM {LINE} JOIN candidates ON line = candidate GROUP BY line, {side}, {listed}"
        )

    def kind(self, *things: str) -> int:
        """Of where the things begin that these columns tell apart; the next kind is of where they end."""
        return 2 * sum(1 << i for i, name in enumerate(["p", *self._others]) if name in things)

    def pairs(self, cuts: Mapping[int, int], v: str, wanted: int) -> str:
        """Of each `side` of cuts, as many pairs of value and respondent as decide the matching test.

        At most l respondents of each value, of these at most l values of each respondent, and of these
        l (l - 1) + 1 (see `smalti.transforms.requirements.distinct_values.surely_match`).
        """
        return (
            f"{self._laid_out}, {_values('candidates', ('candidate', 'place'), cuts.items())}, "
            f"pairs AS (SELECT DISTINCT line, CASE WHEN p > place THEN 1 ELSE 0 END AS side, {v} AS v, u "
            f"FROM {LINE} JOIN candidates ON line = candidate), "
            f"{_first('by_value', 'pairs', 'line, side, v', 'u', wanted)}, "
            f"{_first('by_person', 'by_value', 'line, side, u', 'v', wanted)}, "
            f"{_first('enough', 'by_person', 'line, side', 'v, u', wanted * (wanted - 1) + 1)} "
            "SELECT line, side, v, u FROM enough"
        )

    def codes_upto(self, cuts: Mapping[int, int]) -> str:
        """The codes that stand at most at the place of a cut, each with its line, from `PLACES`."""
        wanted = _values("cuts", ("line", "place"), cuts.items())
        return (
            f"WITH {wanted} SELECT line AS side_of, code FROM {PLACES} "
            "JOIN cuts ON along = line AND p <= place"
        )

    @property
    def _laid_out(self) -> str:
        """The beginning of a query: `LINE`; ordered values stand at their code."""
        kept = ", ".join(["line", *self._others, *self._totals])
        rows = f"FROM {FACTS} JOIN lines ON node = home"
        if not self._unordered:
            return f"WITH {self._lines}, {LINE} AS (SELECT {kept}, {self._code} AS p, n {rows})"
        return (
            f"WITH {self._lines}, coded AS (SELECT {kept}, {self._code} AS q, n {rows}), "
            f"{LINE} AS (SELECT {kept}, coalesce(p, q) AS p, n "
            f"FROM coded LEFT JOIN {PLACES} ON line = along AND q = code)"
        )

    def _clamped(self, windows: Mapping[int, Window], others: Sequence[str]) -> str:
        """The beginning of a query: `LINE`, with the places outside of each window drawn together."""
        place = "CASE WHEN p < low THEN low - 1 WHEN p > high THEN high + 1 ELSE p END"
        rows = [(line, window.low, window.high) for line, window in windows.items()]
        return (
            f"{self._laid_out}, {_values('windows', ('seen', 'low', 'high'), rows)}, "
            f"clamped AS (SELECT {', '.join(['line', *others])}, {place} AS p, n "
            f"FROM {LINE} JOIN windows ON line = seen)"
        )


def divided(
    columns: Sequence[str],
    attributes: int,
    cuts: Sequence[Division],
    sides: str | None,
    source: str = FACTS,
) -> str:
    """The facts, with a new node for what is right of a cut.

    Args:
        columns: of the facts, but `node`.
        attributes: how many there are.
        cuts: at most one of each partition.
        sides: a relation with the codes on the left of cuts along attributes without an order
            (`side_of`, which is the line, and `code`), if there are any.
        source: where the facts are.
    """
    code = _chosen(attributes)
    goes_right, join = f"{code} > place", ""
    if sides is not None:
        join = f"LEFT JOIN {sides} ON cut = side_of AND code = {code}"
        goes_right = f"CASE WHEN cut < 0 THEN {goes_right} ELSE code IS NULL END"
    return (
        f"WITH {_values('cuts', ('home', 'a', 'cut', 'place', 'other'), cuts)} "
        f"SELECT CASE WHEN home IS NOT NULL AND {goes_right} THEN other ELSE node END AS node, "
        f"{', '.join(columns)} FROM {source} LEFT JOIN cuts ON node = home {join}"
    )


# --- Samples


def tuples(columns: Sequence[str]) -> str:
    """How many distinct tuples there are."""
    return f"SELECT count(*) AS n FROM (SELECT DISTINCT {', '.join(columns)} FROM {FACTS}) AS d"


def sampled(columns: Sequence[str], limit: int) -> str:
    """Some of the tuples with their rows: those whose hash, from 0 to HASHES - 1, is below a limit.

    The hash is of the codes alone, by additions and multiplications modulo a prime (Lehmer 1951; the factor
    is by Fishman and Moore 1986): engines agree about it, and nothing exceeds 64 bits.
    """
    number = "CAST(0 AS BIGINT)"
    for q in columns:
        number = f"(({number} + {q} + 1) * {_FACTOR} % {HASHES})"
    listed = ", ".join(columns)
    rows = f"FROM {FACTS} WHERE {number} < {limit}"
    return f"SELECT {listed}, CAST(sum(n) AS BIGINT) AS n {rows} GROUP BY {listed}"


def divided_by_levels(
    columns: Sequence[str], attributes: int, levels: Sequence[Sequence[Division]], sides: str | None
) -> str:
    """The facts, divided several times: at each level as `divided` says."""
    names = [FACTS, *(f"level{i}" for i in range(len(levels)))]
    steps = [
        f"{name} AS ({divided(columns, attributes, cuts, sides, source)})"
        for source, name, cuts in zip(names, names[1:], levels, strict=False)
    ]
    return f"WITH {', '.join(steps)} SELECT * FROM {names[-1]}"


def renamed(columns: Sequence[str], into: Mapping[int, int]) -> str:
    """The facts, some nodes of which are known by another number now."""
    return (
        f"WITH {_values('names', ('old', 'home'), into.items())} SELECT coalesce(home, node) AS node, "
        f"{', '.join(columns)} FROM {FACTS} LEFT JOIN names ON node = old"
    )


def of_nodes(source: str, nodes: Iterable[int]) -> str:
    """What a relation holds of some nodes."""
    return f"SELECT * FROM {source} WHERE node IN ({', '.join(map(str, nodes))})"


def _chosen(attributes: int) -> str:
    """The code of attribute `a`. Its text is the same each time: engines compile it once."""
    return f"CASE a {' '.join(f'WHEN {i} THEN q{i}' for i in range(attributes))} END"


def _lines(lines: Mapping[int, Line]) -> str:
    rows = [(number, line.node, line.attribute) for number, line in lines.items()]
    return _values("lines", ("line", "home", "a"), rows)


def _values(name: str, columns: tuple[str, ...], rows: Iterable[tuple[int, ...]]) -> str:
    """A relation of a query that lists rows of numbers."""
    listed = ", ".join(f"({', '.join(f'CAST({number} AS BIGINT)' for number in row)})" for row in rows)
    return f"{name}({', '.join(columns)}) AS (VALUES {listed})"


def _first(name: str, source: str, by: str, order: str, number: int) -> str:
    """A relation of a query: the first rows of each group of another one."""
    return (
        f"{name} AS (SELECT line, side, v, u FROM (SELECT line, side, v, u, row_number() OVER "
        f"(PARTITION BY {by} ORDER BY {order}) AS place FROM {source}) AS d WHERE place <= {number})"
    )
