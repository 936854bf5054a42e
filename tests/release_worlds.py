"""Small worlds of releases: a policy, visits to a hospital, and whole runs; shared by tests."""

import csv
import json
from pathlib import Path
from typing import Any

import smalti

TARGET = "http://hospital.example/visits"
OUTPUT = "http://hospital.example/statistics"
OWNER = "http://hospital.example"
USER = "http://research.example"
CONTEXTS = [
    "http://www.w3.org/ns/odrl.jsonld",
    "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
    "https://w3id.org/smalti/context.jsonld",
]
QUERY = {
    "statistics": [
        {"name": "visits", "statistic": "count"},
        {
            "name": "age", "statistic": "mean", "measure": "age", "lower": 0, "upper": 100, "unit": 1,
            "groupBy": [{"column": "sex", "values": ["f", "m", "x"]}],
        },
        {"name": "half", "statistic": "quantile", "measure": "age", "lower": 0, "upper": 100, "unit": 10,
         "levels": [0.5]},
    ]
}  # fmt: skip
MEMBER, WHOLE = "http://hospital.example/ward", "http://hospital.example/wards"
PREFIX = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> ."
WARDS = (
    f"{PREFIX}\n<{MEMBER}> a odrl:Asset ; odrl:partOf <{WHOLE}> .\n<{WHOLE}> a odrl:AssetCollection ."
).encode()
COUNT = {"statistics": [{"statistic": "count"}]}


def refinement(operand: str, operator: str, value: Any) -> dict[str, Any]:
    return {"leftOperand": operand, "operator": operator, "rightOperand": value}


def columns(*names: str) -> list[dict[str, str]]:
    return [{"@id": f"{TARGET}/{name}"} for name in names]


def policy(
    folder: Path, *, budget: Any = 2, epsilon: Any = 1, words: Any = None, delta: Any = None
) -> Path:
    ceilings = {"smalti:budgetEpsilon": budget, "smalti:budgetDelta": delta}
    limits = [refinement(word, "lteq", value) for word, value in ceilings.items() if value is not None]
    said = {
        "smalti:epsilon": refinement("smalti:epsilon", "lteq", epsilon),
        "smalti:statistic": refinement("smalti:statistic", "isAnyOf", ["count", "mean", "quantile"]),
        "smalti:measure": refinement("smalti:measure", "isAnyOf", columns("age")),
        "smalti:groupBy": refinement("smalti:groupBy", "isAnyOf", columns("sex")),
        "smalti:respondent": refinement("smalti:respondent", "eq", {"@id": f"{TARGET}/patient"}),
        "smalti:rowsPerRespondent": refinement("smalti:rowsPerRespondent", "lteq", 2),
        **(words or {}),
    }
    document = {
        "@context": CONTEXTS,
        "@type": "Set",
        "uid": "http://hospital.example/policy",
        "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
        "permission": [
            {
                "uid": "http://hospital.example/policy/1",
                "target": TARGET,
                "assignee": USER,
                "action": [
                    {
                        "rdf:value": {"@id": "odrl:anonymize"},
                        "refinement": [
                            refinement("mosaicrown:method", "eq", "differential-privacy"),
                            *(word for word in said.values() if word),
                        ],
                    }
                ],
                **({"constraint": limits} if limits else {}),
                "output": OUTPUT,
            }
        ],
    }
    path = folder / "policy.jsonld"
    path.write_text(json.dumps(document))
    return path


def visits(folder: Path, rows: list[tuple[str, str, str]], name: str = "visits.csv") -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("patient", "sex", "age"))
        writer.writerows(rows)
    return path


ROWS = [(f"p{n % 30}", "fm"[n % 2], str(20 + n % 7 * 10)) for n in range(60)]


def release(folder: Path, data: Path, name: str = "out", **more: Any) -> smalti.Outcome:
    asked = folder / "query.json"
    asked.write_text(json.dumps(more.pop("query", QUERY)))
    asked = more.pop("query_file", asked)
    given = more.pop("policy", None) or policy(folder)
    return smalti.run(
        given,
        **{
            "data": {TARGET: data},
            "party": USER,
            "owner": OWNER,
            "out": folder / name,
            "registry": folder / "r.sqlite",
            "query": asked,
            **more,
        },
    )


def registry(folder: Path) -> smalti.Registry:
    return smalti.Registry.open(folder / "r.sqlite")


def about(folder: Path, target: str, name: str, **more: Any) -> Path:
    """A policy about another target, with an output of its own."""
    text = policy(folder, **more).read_text()
    text = text.replace(OUTPUT, f"http://hospital.example/made/{name}").replace(TARGET, target)
    path = folder / f"{name}.jsonld"
    path.write_text(text.replace("hospital.example/policy", f"hospital.example/{name}"))
    return path


def counted(folder: Path, target: str, given: Path, data: Path, out: str, **more: Any) -> smalti.Outcome:
    asked = folder / "count.json"
    asked.write_text(json.dumps(COUNT))
    return smalti.run(
        given,
        **{
            "data": {target: data},
            "party": USER,
            "owner": OWNER,
            "out": folder / out,
            "registry": folder / "r.sqlite",
            "query": asked,
            **more,
        },
    )
