"""The public function `audit_generative`: what attackers learn from samples of a generative model.

It is a study, by whoever has the training records: nothing is registered.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa

from smalti.auditing_files import classes_of
from smalti.errors import DataError, SmaltiError, UsageError, only_ours, raise_all
from smalti.sampling import FILE, FromFile, sampler_from
from smalti.transforms.generative.attack_names import GenerativeAttack
from smalti.transforms.generative.audit import Attacked, Audited, Settings, attacked
from smalti.transforms.generative.distances import Distance, DistanceName, distance_of
from smalti.transforms.generative.linking import Targets
from smalti.transforms.generative.models import FromModel, check_fits
from smalti.transforms.generative.protocol import Achieved, Groups
from smalti.transforms.generative.results import AttackFigures, GenerativeAudit
from smalti.transforms.generative.sampler import Form, Numbers, Sampler, numbers
from smalti.transforms.generative.table_audit import AuditedTable, numbers_of_rows, risk_figures
from smalti.transforms.generative.tables import TableColumns
from smalti.transforms.learning.generative_models import GenerativeModel, load_generative
from smalti.transforms.learning.randomness import Origin, Seeded
from smalti.transforms.membership.set_membership import ATTACKS, SIZE, AttackType, least_records

DEFAULT_NUMBER: Final = 10_000
"""Samples of a command or a model."""
_HIGHEST: Final = 0.999999
_REFERENCE: Final = 4
"""One in so many others, at least, is the reference where something is learned from one."""
_Name = TypeVar("_Name", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerativeStudy:
    """The attacked model, its data, and the attacks. Exactly one of `samples`, `command`, `model` is given.

    Data is CSV or Parquet with numbers alone beside the label, or an array (see `sampling`).
    """

    members: Path
    """Records that the model was trained on."""
    others: Path
    """Records of the same kind that it was not trained on. Where a distance or a percentile is learned from
    records, those beyond the number of members, and a quarter of all at least, serve for that."""
    attacks: tuple[str, ...]
    """Names of `GenerativeAttack`."""
    samples: Path | None = None
    """Samples of the model, in the form of the members."""
    command: str | None = None
    """Words that write samples (`sampling.FromCommand`)."""
    model: Path | None = None
    """A generative model that smalti trained: a safetensors file."""
    label: str | None = None
    """The column of labels of a conditional model; an array has them in a file beside it."""
    distances: tuple[str, ...] = (DistanceName.PLAIN,)
    """Names of `DistanceName`."""
    number: int | None = None
    """Samples, at least 2; None: all of a file, or 10,000."""
    size: int = SIZE
    """M, at least 1: members, and as many others, in one attack."""
    secrets: tuple[str, ...] = ()
    """Columns that attribute inference guesses; none: each column."""
    side: tuple[str, ...] = ()
    """Columns of one of two tables that linkability links, the other one with the rest; none: two ways to
    divide all columns."""
    confidence: float = 0.95
    """Of each limit by itself: above 0, at most 0.999999."""
    seed: int = 0
    """Of all that the attacks draw, and of samples of a model of ours; at least 0."""


@only_ours()
def audit_generative(
    study: GenerativeStudy, phase: Callable[[str], None] = lambda _: None
) -> GenerativeAudit:
    """Attack a generative model by its samples, or by the model itself (D5.2, 4.4).

    Args:
        study: what is attacked, and how.
        phase: called with the name of each phase.

    Raises:
        UsageError: a choice is out of range or unknown, an attack needs a model of another kind, or a file
            does not exist.
        DataError: records or samples cannot be used; about records before anything is sampled.
        BackendError: the extra `audit` is not installed.
    """
    raise_all(list(_problems(study)))
    attacks = _named("--attack", GenerativeAttack, study.attacks)
    distances = _named("--distance", DistanceName, study.distances)
    draw = np.random.default_rng([study.seed, 0])
    phase("read")
    model = None if study.model is None else load_generative(study.model)
    records = _records(study, draw, model, attacks, distances)
    sampler = _sampler(study, model, records)
    settings = Settings(attacks, _distances(records, attacks, distances), _number(study, sampler))
    results = attacked(records, settings, sampler, model, (draw, Seeded(study.seed)), phase)
    return _audit(study, settings, records, sampler, results, model)


def _problems(study: GenerativeStudy) -> Iterator[SmaltiError]:
    if [study.samples, study.command, study.model].count(None) != 2:
        yield UsageError(
            "what is attacked", "it is not one thing", "one of --samples, --command and --model"
        )
    if study.command is not None and FILE not in study.command:
        yield UsageError("--command", f"it has no {FILE}", f"{FILE} where it writes samples to")
    if not study.attacks or not study.distances:
        yield UsageError("attacks", "there is none", "an attack, and a distance")
    if not 0 < study.confidence <= _HIGHEST:
        yield UsageError("--confidence", "it is out of range", f"a number above 0, at most {_HIGHEST}")
    if study.seed < 0:
        yield UsageError("--seed", "it is below 0", "a whole number of at least 0")
    if study.size < 1:
        yield UsageError("--size", "it is below 1", "a number of members in one attack")
    if DistanceName.GOWER in study.distances and GenerativeAttack.KERNEL_DENSITY in study.attacks:
        yield UsageError(
            "--distance", "`gower` has no kernel density", "a Euclidean distance, such as plain"
        )
    if study.number is not None and study.number < 2:
        yield UsageError("--number", "it is below 2", "a number of samples")


def _named(option: str, names: type[_Name], texts: tuple[str, ...]) -> tuple[_Name, ...]:
    """The members of an enumeration, each once.

    Raises:
        UsageError: there is none of a name.
    """
    by_name = {str(name): name for name in names}
    unknown = [text for text in texts if text not in by_name]
    if unknown:
        raise UsageError(option, f"`{unknown[0]}` is unknown", f"one of {', '.join(by_name)}")
    return tuple(dict.fromkeys(by_name[text] for text in texts))


def _distances(
    records: Audited, attacks: tuple[GenerativeAttack, ...], names: tuple[DistanceName, ...]
) -> tuple[Distance, ...]:
    """The distances of the attacks that have one."""
    if not any(attack.has_distance for attack in attacks):
        return ()
    shape, reference = records.form.shape, records.reference.features
    columns = None
    if records.table is not None:
        columns = records.table.without(records.form.label)
    return tuple(distance_of(name, shape, reference, columns) for name in names)


def _learns(attacks: tuple[GenerativeAttack, ...], distances: tuple[DistanceName, ...]) -> bool:
    """Whether anything is learned from reference records."""
    has_distance = any(attack.has_distance for attack in attacks)
    return GenerativeAttack.MC_PERCENTILE in attacks or (has_distance and DistanceName.PCA in distances)


def _records(
    study: GenerativeStudy,
    draw: np.random.Generator,
    model: GenerativeModel | None,
    attacks: tuple[GenerativeAttack, ...],
    distances: tuple[DistanceName, ...],
) -> Audited:
    """The audited records."""
    files = FromFile(study.members, study.label), FromFile(study.others, study.label)
    form = _form(study, files, model)
    batches = [file.read() for file in files]
    classes = _classes(files, form, batches)
    rows = _rows(study, files, form, batches, attacks, distances)
    is_mixed = rows is not None and _is_mixed(form, attacks, distances)
    members, others = (
        numbers_of_rows(rows, file.name, batch, form.label, classes)
        if rows is not None and is_mixed
        else numbers(file.name, form, batch, classes)
        for file, batch in zip(files, batches, strict=True)
    )
    if len(members) < 2 or len(others) < 2:
        raise DataError(
            "the audit",
            "there is a single member, or a single other record, or none",
            f"{study.size} of each for one attack, and some hundred for an answer",
        )
    if model is not None or DistanceName.COLOURS in study.distances:
        _check_range(files, (members, others))
    bounds = _bounds(files[0])
    has_reference = _learns(attacks, distances) or (rows is not None and not rows.is_bounded(bounds))
    shuffled, drawn = draw.permutation(len(others)), draw.permutation(len(members))
    least = -(-len(others) // _REFERENCE) if has_reference else 0
    count = min(len(members), len(others) - least)
    records = _joined(members.take(drawn[:count]), others.take(shuffled[:count]))
    groups = Groups(study.size, (), ())
    if any(not attack.is_risk for attack in attacks):
        groups = Groups.drawn(np.repeat([True, False], count), draw, study.size)
    rest = shuffled[count:] if has_reference else shuffled[:0]
    table = None
    if rows is not None:
        inside, outside = (
            rows.encoded(file.name, batch) for file, batch in zip(files, batches, strict=True)
        )
        targets = Targets(
            rows.names,
            rows.measured(outside[rest], bounds),
            np.concatenate([inside[drawn[:count]], outside[shuffled[:count]]]),
            count,
        )
        table = AuditedTable(rows, targets, study.secrets, study.side)
    audited = Audited(form, classes, records, others.take(rest), groups, table, is_mixed)
    if model is not None:
        check_fits(model, form, classes)
    return audited


def _rows(
    study: GenerativeStudy,
    files: tuple[FromFile, FromFile],
    form: Form,
    batches: list[pa.RecordBatch],
    attacks: tuple[GenerativeAttack, ...],
    distances: tuple[DistanceName, ...],
) -> TableColumns | None:
    """The columns of the records, where an attack compares rows of a table; None where none does.

    Raises:
        UsageError: an option names another column, or there is a single one to compare.
        DataError: records are no rows.
    """
    has_distance = DistanceName.GOWER in distances and any(attack.has_distance for attack in attacks)
    if not has_distance and not any(attack.is_risk for attack in attacks):
        return None
    rows = TableColumns.of(form, batches, files[0].declared_numbers())
    unknown = [name for name in (*study.secrets, *study.side) if name not in rows.names]
    if unknown:
        raise UsageError(
            "--secret and --side", f"there is no column `{unknown[0]}`", "columns of the records"
        )
    if {*study.side} == {*rows.names}:
        raise UsageError("--side", "it names all columns", "those of one of two tables")
    compares = {GenerativeAttack.LINKABILITY, GenerativeAttack.ATTRIBUTE_INFERENCE} & {*attacks}
    if compares and len(rows.names) < 2:
        raise UsageError(str(min(compares)), "there is a single column", "two columns, at least")
    return rows


def _is_mixed(
    form: Form, attacks: tuple[GenerativeAttack, ...], distances: tuple[DistanceName, ...]
) -> bool:
    """Whether records are compared as rows of a table alone."""
    has_distance = any(attack.has_distance for attack in attacks)
    others = any(not attack.has_distance and not attack.is_risk for attack in attacks)
    return form.shape is None and not others and (not has_distance or {*distances} == {DistanceName.GOWER})


def _bounds(file: FromFile) -> dict[str, tuple[float, float]]:
    """The public ranges of columns, as far as they are described."""
    return {
        column.name: (float(column.lower), float(column.upper))
        for column in file.described()
        if column.lower is not None and column.upper is not None and not column.is_derived
    }


def _form(study: GenerativeStudy, files: tuple[FromFile, FromFile], model: GenerativeModel | None) -> Form:
    """The form of the records; without their label for a model that is not conditional."""
    form, other = (file.form for file in files)
    if form.shape is not None and study.label is not None:
        raise UsageError(
            "--label", "records are arrays", "labels in a file beside each, such as a.labels.npy"
        )
    if form != other:
        raise DataError(
            str(study.others),
            "the columns, their order or the shape differ",
            f"those of {study.members.name}",
        )
    if model is not None and model.network.classes == 1 and form.label is not None:
        columns = tuple(name for name in form.columns if name != form.label)
        return replace(form, columns=columns, label=None)
    return form


def _classes(
    files: tuple[FromFile, FromFile], form: Form, batches: list[pa.RecordBatch]
) -> tuple[str, ...]:
    if form.label is None:
        return ()
    columns = [batch.column(form.label) for batch in batches]
    for file, column in zip(files, columns, strict=True):
        if column.null_count:
            raise DataError(
                f"{file.path}, column `{form.label}`", "records have no label", "one of each record"
            )
    return classes_of(form.label, {text for column in columns for text in column.to_pylist()})


def _check_range(files: tuple[FromFile, FromFile], parts: tuple[Numbers, Numbers]) -> None:
    """Models of ours and histograms of colours take numbers from 0 to 1."""
    for file, part in zip(files, parts, strict=True):
        if part.features.min() < 0 or part.features.max() > 1:
            raise DataError(
                str(file.path),
                "numbers are outside of 0 to 1",
                "numbers from 0 to 1, as models of smalti and the distance colours take them",
                "scale records, and samples, by public bounds, such as 255 of intensities",
            )


def _joined(members: Numbers, others: Numbers) -> Numbers:
    return Numbers(
        np.concatenate([members.features, others.features]), np.concatenate([members.labels, others.labels])
    )


def _sampler(study: GenerativeStudy, model: GenerativeModel | None, records: Audited) -> Sampler:
    if model is not None and study.model is not None:
        draw = np.random.default_rng([study.seed, 1])
        return FromModel(model, records.classes, draw, records.form, study.model.name)
    if study.command is not None:
        return sampler_from(study.command, study.label)
    return FromFile(study.samples or Path(), study.label)


def _number(study: GenerativeStudy, sampler: Sampler) -> int:
    if study.number is not None:
        return study.number
    return sampler.count() if isinstance(sampler, FromFile) else DEFAULT_NUMBER


def _audit(
    study: GenerativeStudy,
    settings: Settings,
    records: Audited,
    sampler: Sampler,
    results: Attacked,
    model: GenerativeModel | None,
) -> GenerativeAudit:
    count = len(records.records) // 2
    rows = [row.tobytes() for row in records.records.features]
    inside = {*rows[:count]}
    single, sets = (
        least_records(kind, study.confidence, study.size) for kind in (AttackType.SINGLE, AttackType.SET)
    )
    return GenerativeAudit(
        model=sampler.name,
        members=count,
        others=count,
        reference=len(records.reference),
        equal=sum(row in inside for row in rows[count:]),
        samples=settings.samples if any(not attack.needs_model for attack in settings.attacks) else 0,
        size=study.size,
        disjoint=len(records.groups.disjoint),
        repeated=ATTACKS,
        least=(single, sets),
        confidence=study.confidence,
        seed=study.seed,
        attacks=tuple(_figures(name, reached, study.confidence) for name, reached in results.membership),
        risks=risk_figures(results.risks, study.confidence),
        has_no_guess=results.risks.get(GenerativeAttack.SINGLING_OUT) == (),
        is_test_only=model is not None and model.description.randomness is Origin.SEED,
    )


def _figures(name: str, reached: Achieved, confidence: float) -> AttackFigures:
    return AttackFigures(
        name,
        reached.single_accuracy(confidence),
        reached.set_accuracy(confidence),
        reached.document_single.accuracy,
        reached.document_sets.accuracy,
    )
