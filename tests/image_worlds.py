"""A table of people with an image each, a policy for it, and runs of it; shared by tests of pixelation."""

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

import smalti
from smalti.deciding import using
from smalti.engine.binding.run_request import Outcome
from smalti.engine.registry.budget import Budget

FACES = "http://example.com/faces"
OWNER, RESEARCH = "http://example.com/hospital", "http://example.com/research"
SIDES = (4, 6)
"""Height and width of the images here."""


def shades(number: int, height: int = SIDES[0], width: int = SIDES[1]) -> np.ndarray:
    """A grey image, another one for each number."""
    return np.random.default_rng(number).integers(0, 256, (height, width), np.uint8)


def png(image: np.ndarray, mode: str | None = None, **choices: Any) -> bytes:
    file = io.BytesIO()
    made = Image.fromarray(image)
    (made.convert(mode) if mode else made).save(file, format=choices.pop("format", "PNG"), **choices)
    return file.getvalue()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def write_world(folder: Path, *, kind: str = "csv", budget: float = 20) -> None:
    refinements = [
        {"leftOperand": word, "operator": operator, "rightOperand": value}
        for word, operator, value in (
            ("mosaicrown:method", "eq", "local-differential-privacy"),
            ("smalti:epsilon", "lteq", 2),
            ("smalti:mechanism", "isAnyOf", ["pixelation", "randomized-response"]),
            ("smalti:pixelSize", "gteq", 2),
            ("smalti:pixelNeighborhood", "gteq", 3),
            ("smalti:measure", "isAnyOf", ["sex", "face"]),
            ("smalti:respondent", "eq", {"@id": "smalti:oneRowEach"}),
        )
    ]
    contexts = ["http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
                "https://w3id.org/smalti/context.jsonld"]  # fmt: skip
    rule = {
        "uid": "http://example.com/policy/1", "target": FACES, "assignee": RESEARCH,
        "action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": refinements}],
        "output": "http://example.com/noisy",
        "constraint": [
            {"leftOperand": "smalti:budgetEpsilon", "operator": "lteq", "rightOperand": budget}
        ],
    }  # fmt: skip
    document = {
        "@context": contexts, "@type": "Set", "uid": "http://example.com/policy",
        "profile": "https://w3id.org/smalti#", "permission": [rule],
    }  # fmt: skip
    (folder / "policy.jsonld").write_text(json.dumps(document))
    sexes = ["f", "m", "", "f"] * 5
    faces = [png(shades(place)) if place % 7 else b"wombat" for place in range(20)]
    if kind == "csv":
        with (folder / "faces.csv").open("w", newline="") as file:
            rows = zip(sexes, map(text, faces), strict=True)
            csv.writer(file, lineterminator="\n").writerows([("sex", "face"), *rows])
    else:
        stored = pa.array(faces, pa.binary())
        stored = stored.dictionary_encode() if kind == "dictionary" else stored
        table = {"sex": pa.array([sex or None for sex in sexes]), "face": stored}
        pq.write_table(pa.table(table), folder / "faces.parquet")
    name = "faces.csv" if kind == "csv" else "faces.parquet"
    columns = [
        {"name": "sex", "csvw-eo:keyValues": ["f", "m"]},
        {"name": "face", "datatype": "base64Binary", "s:imageHeight": SIDES[0], "s:imageWidth": SIDES[1]},
    ]
    prefixes = {"csvw-eo": "https://w3id.org/csvw-eo#", "s": "https://w3id.org/smalti#"}
    metadata = {"@context": ["http://www.w3.org/ns/csvw", prefixes], "url": name,
                "tableSchema": {"columns": columns}}  # fmt: skip
    (folder / f"{name}-metadata.json").write_text(json.dumps(metadata))


def run(folder: Path, name: str = "out", **choices: Any) -> Outcome:
    (data,) = folder.glob("faces.*[tv]")
    return smalti.run(
        folder / "policy.jsonld",
        data={FACES: data},
        party=RESEARCH,
        **{"owner": OWNER, "out": folder / name, "registry": folder / "registry.sqlite"} | choices,
    )


def charged(folder: Path) -> Budget:
    with using(folder / "registry.sqlite") as registry:
        return registry.ledger.budget(smalti.IRI(FACES))
