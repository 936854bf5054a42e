"""Published folders as a run writes them, from labels that a test chooses."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from smalti.engine.anonymization.guarantee import ClassGuarantee, ColumnForm
from smalti.engine.plan.files import PublishedFile
from smalti.engine.plan.plan import OneRowEach
from smalti.engine.plan.published_columns import DeclaredType, LabelForm
from smalti.engine.registry.certificate import Certificate
from smalti.engine.tables.writing import csv_records
from smalti.transforms.base import Guarantee
from smalti.vocab.terms import IRI

IRI_OF_ALL = IRI("http://example.com/x")


def write_folder(
    folder: Path,
    columns: Mapping[str, Sequence[str | None]],
    generalised: Mapping[str, LabelForm],
    declared: Sequence[DeclaredType] = (),
    *,
    has_forms: bool = True,
) -> Path:
    """A folder with `table.csv` and its certificate; all columns are of texts."""
    folder.mkdir(exist_ok=True)
    arrays = [pa.array(texts, pa.string()) for texts in columns.values()]
    header = csv_records([pa.array([name]) for name in columns])
    data = header + csv_records(arrays)
    (folder / "table.csv").write_bytes(data)
    write_certificate(folder, "table.csv", list(columns), generalised, declared, has_forms=has_forms)
    return folder


def write_certificate(
    folder: Path,
    name: str,
    columns: Sequence[str],
    generalised: Mapping[str, LabelForm],
    declared: Sequence[DeclaredType] = (),
    *,
    has_forms: bool = True,
) -> None:
    data = (folder / name).read_bytes()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    guarantee = ClassGuarantee(
        Guarantee("k-anonymity", 2),
        tuple(generalised) or (columns[0],),
        tuple(ColumnForm(each, form) for each, form in generalised.items()) if has_forms else (),
        (),
        tuple(each for each in columns if each not in generalised),
        tuple(declared),
    )
    certificate = Certificate(
        version=IRI_OF_ALL, output=IRI_OF_ALL, issued=datetime(2026, 5, 1, tzinfo=UTC), guarantee=guarantee,
        respondent=OneRowEach(is_declared=True), inputs=(IRI_OF_ALL,), policy_uid=IRI_OF_ALL,
        policy_digest=digest, rule_uid=IRI_OF_ALL, plan_digest=digest,
        files=(PublishedFile(name, digest, len(data), "text/csv"),),
    )  # fmt: skip
    (folder / "certificate.jsonld").write_text(certificate.to_json(), encoding="utf-8")
