"""A small table of people, all columns declared doubles, and a policy for it; shared by tests."""

import csv
import json
from pathlib import Path

TARGET = "http://example.com/People"
OWNER = "http://example.com/party/owner"


def write(folder: Path, rows: list[tuple[str, str, str]]) -> Path:
    """Write data, description and policy (k = 2, l = 2) into a folder; the path of the data."""
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("who", "age", "illness"), *rows])
    described = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": "people.csv",
        "tableSchema": {
            "columns": [
                {"name": "who", "datatype": "double"},
                {"name": "age", "datatype": "double"},
                {"name": "illness", "datatype": "double"},
            ]
        },
    }
    (folder / "people.csv-metadata.json").write_text(json.dumps(described))
    parameters = {"k": "2", "l": "2", "method": "l-diversity"}
    roles = {"identifier": "who", "quasi-identifier": "age", "sensitive": "illness"}
    refinements = [
        {
            "leftOperand": "mosaicrown:method",
            "operator": "eq",
            "rightOperand": parameters["method"],
        },
        *(
            {"leftOperand": f"mosaicrown:{name}", "operator": "gteq", "rightOperand": int(parameters[name])}
            for name in ("k", "l")
        ),
        *(
            {
                "leftOperand": f"mosaicrown:{role}",
                "operator": "isAllOf",
                "rightOperand": [{"@id": f"{TARGET}/{name}"}],
            }
            for role, name in roles.items()
        ),
        {"leftOperand": "smalti:respondent", "operator": "eq", "rightOperand": {"@id": f"{TARGET}/who"}},
    ]
    policy = {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
        "uid": "http://example.com/policy/doubles",
        "@type": "Set",
        "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
        "permission": [
            {
                "uid": "http://example.com/policy/doubles/1",
                "target": TARGET,
                "output": "http://example.com/Published",
                "action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": refinements}],
            }
        ],
    }
    (folder / "policy.jsonld").write_text(json.dumps(policy))
    return folder / "people.csv"
