"""A run held together with all earlier releases about the same respondents, before it is published.

Each release keeps its promise by itself; several of them together need not (`verify.combined`). No link
from published rows to people is kept, so the earlier runs are repeated on their data, which the owner has:
those of this data as they are, those of other data where the owner binds that too. Where one of them cannot
be repeated, nothing shows that its promise still holds, and the run is refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from smalti.engine.binding.binding import files_of, input_hmac
from smalti.engine.binding.capability import Capability, Compiled, OwnersData, Produced, capability_of
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.losses.charging import memberships_said
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.kinds import holds_beside_others, promises_nothing
from smalti.engine.plan.recorded import plan_from_json, recorded_kind
from smalti.engine.plan.serialize import plan_digest
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.joinable import joinable, release_of, release_of_version
from smalti.engine.tables.bringing import brought
from smalti.engine.tables.description import Source
from smalti.engine.tables.disk import private_folder
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.secret import pseudonym_key
from smalti.engine.verify.combined import ReleasedRows, Weakened, weakened
from smalti.errors import BackendError, GuaranteeError, InternalError, SmaltiError
from smalti.vocab.terms import IRI

_THIS_RUN: Final = 0
_DISCARD: Final = (
    "an owner who knows that nobody has an earlier release says so with `smalti targets discard`"
)
_ASK: Final = "ask an owner of the data"
_OTHER_PEOPLE: Final = (
    "data about other people is a target of its own, with its own IRI; and data that changes needs a"
    f" respondent column; {_DISCARD}"
)


@dataclass(frozen=True, slots=True)
class Combined:
    """What a run was held together with."""

    runs: tuple[str, ...]
    """Of all earlier releases about the same respondents."""
    same_people: tuple[IRI, ...]
    """As `NewVersion.same_people`."""
    files_with_rows: tuple[str, ...]
    """As `NewVersion.files_with_rows`."""
    is_same_by_content: bool
    """As `NewVersion.is_same_by_content`."""


def check_combination(
    capability: Capability[Any, Any], under: RunUnder, compiled: Compiled[Any], produced: Produced
) -> Combined | None:
    """Refuse a run beside which an earlier release, or which beside the earlier ones, breaks its promise.

    Returns:
        The earlier releases; None where it needs not be held together with any.

    Raises:
        GuaranteeError: it does, or that cannot be told. The submitter is told with which releases where
            these are theirs, and else only that it is so.
        DataError, BackendError: as `weakened`.
    """
    # Also where nothing has to be held together: a mistyped place is no silent one.
    earlier = tuple(
        brought(
            compiled.source.target, location, under.stage.spill / f"earlier-{number}", under.watch.phase
        )
        for number, location in enumerate(under.request.earlier_data)
    )
    if holds_beside_others(capability.kind):
        return None
    versions, said, digests = _earlier(under, compiled)
    combined = Combined(
        tuple(version.run for version in versions),
        said,
        digests,
        capability.gives_content_again(compiled.plan),
    )
    release = release_of(plan_digest(compiled.plan), produced.content, produced.report)
    if combined.is_same_by_content and release in map(release_of_version, versions):
        return combined  # it has been held together with all of them
    if _breaks_promises(capability, versions):
        under.watch.phase("combine")
        _Combination(capability, under, compiled, _different(versions), earlier).check()
    return combined


def is_held_together(capability: Capability[Any, Any], under: RunUnder, compiled: Compiled[Any]) -> bool:
    """Whether a run has earlier releases beside it with which a promise may be broken."""
    if holds_beside_others(capability.kind):
        return False
    versions, *_ = _earlier(under, compiled)
    return _breaks_promises(capability, versions)


def _earlier(
    under: RunUnder, compiled: Compiled[Any]
) -> tuple[tuple[TargetVersion, ...], tuple[IRI, ...], tuple[str, ...]]:
    """All earlier releases about the same respondents; assets that are, too; and keyed digests of files."""
    digests = tuple(input_hmac(under.registry, digest) for digest in compiled.contents.telling_digests)
    said = _same_people(under, compiled)
    return joinable(under.registry, compiled.run_input.inputs, digests, said), said, digests


def _breaks_promises(capability: Capability[Any, Any], versions: Sequence[TargetVersion]) -> bool:
    """Whether one of the releases promises something that the others may break."""
    kinds = (capability.kind, *(recorded_kind(version.plan) for version in versions))
    return bool(versions) and not all(map(promises_nothing, kinds))


def _same_people(under: RunUnder, compiled: Compiled[Any]) -> tuple[IRI, ...]:
    """The assets that are about the same respondents since the policy says which collection one is in."""
    request, ledger = under.request, under.registry.ledger
    said = memberships_said(request)
    if not said:
        return ()
    read = [source.iri for source in compiled.run_input.inputs]
    by, issuer = request.submitter, request.document.issuer
    people = ledger.same_respondents(read, said, bound_by=by, said_by=issuer)
    return tuple(sorted(people - ledger.same_respondents(read)))


def _different(versions: Sequence[TargetVersion]) -> tuple[TargetVersion, ...]:
    """One of those that are the same release."""
    by_content = {release_of_version(version): version for version in reversed(versions)}
    return tuple(reversed(by_content.values()))


@dataclass(frozen=True, slots=True)
class _Bound:
    """Data at hand."""

    source: Source
    digests: list[str]
    """Of its files, keyed."""


@dataclass(frozen=True, slots=True)
class _Combination:
    """A run, and the earlier releases that differ from each other."""

    capability: Capability[Any, Any]
    under: RunUnder
    compiled: Compiled[Any]
    versions: tuple[TargetVersion, ...]
    earlier: tuple[Source, ...]
    """Other data that the owner has bound."""

    def check(self) -> None:
        released = self.capability.released(self.compiled, self.under.stage)
        if released is None:
            raise self._unknown("this kind of output is not held together with earlier releases", _DISCARD)
        place = private_folder(self.under.stage.spill / "combined")
        data = tuple(self._data())
        releases = [released]
        for number, version in enumerate(self.versions):
            releases.append(self._repeated(version, data, private_folder(place / str(number))))
        weak = weakened(releases, place)
        if isinstance(weak, str):
            raise self._unknown(weak, _OTHER_PEOPLE)
        if weak:
            raise self._refusal(weak, [data[each.data].source for each in releases])

    def _data(self) -> Iterator[_Bound]:
        """What the owner has bound: the data of the run, and that of earlier ones."""
        source, registry = self.compiled.source, self.under.registry
        yield _Bound(source, [input_hmac(registry, digest) for digest in self.compiled.contents.digests])
        for earlier in self.earlier:
            yield _Bound(earlier, [input_hmac(registry, file_digest(path)) for path in earlier.paths])

    def _repeated(self, version: TargetVersion, data: Sequence[_Bound], place: Path) -> ReleasedRows:
        """The rows of an earlier release, from a run of its plan on its data."""
        plan = plan_from_json(version.plan)
        digests = files_of(version, plan.read.target)
        same = [bound for bound in data if bound.digests == digests]
        withdrawn = self.under.registry.withdrawals.before(version, plan.read.target)
        is_repeatable = True
        self._check_key(version, plan)
        for number, bound in enumerate(same):
            source = replace(bound.source, target=plan.read.target)
            owned = OwnersData(source, withdrawn, registry=self.under.registry)
            folder = private_folder(place / str(number))
            private_folder(folder / "spill")  # where engines work, and nothing makes it for them
            try:
                repeated = capability_of(plan.kind).released_again(plan, owned, self.under.backend, folder)
            except (BackendError, InternalError):
                raise
            except SmaltiError:
                continue  # a description says other things by now
            is_repeatable = repeated is not None
            if repeated is not None and repeated[1] == version.output_digest:
                first = next(number for number, bound in enumerate(data) if bound.digests == digests)
                return replace(repeated[0], data=first)
        if not is_repeatable:
            problem = f"{self._name(version)} was drawn at random, or has several tables"
            raise self._unknown(problem, _DISCARD)
        if same:
            problem = f"{self._name(version)} cannot be made again from this data, as it is described"
            raise self._unknown(problem, "bind it as it was described then too, with --earlier-data")
        raise self._unknown(
            f"{self._name(version)} was made from other data about the same respondents",
            f"bind that data too, with --earlier-data; {_OTHER_PEOPLE}",
        )

    def _check_key(self, version: TargetVersion, plan: AnyPlan) -> None:
        name = capability_of(plan.kind).key_named(plan)
        if name is None:
            return
        try:
            pseudonym_key(self.under.registry.path, name, is_again=True)
        except SmaltiError as lacking:
            problem = f"{self._name(version)} has pseudonyms under the key `{name}`, and {lacking.problem}"
            raise self._unknown(problem, lacking.way_out) from None

    def _name(self, version: TargetVersion) -> str:
        """An earlier release, for its owner; nobody else is told which one it is."""
        if self._is_of_others(version):
            return "an earlier release"
        return f"`{version.target}` version {version.number}"

    def _unknown(self, problem: str, way_out: str) -> GuaranteeError:
        rule = "it cannot be told whether it breaks a promise together with earlier releases"
        if self.under.binds_as_owner:
            rule = f"{rule}: {problem}"
        else:
            way_out = _ASK
        return GuaranteeError(
            str(self.compiled.plan.write.output), rule, "earlier releases that can be made again", way_out
        )

    def _refusal(self, weak: Sequence[Weakened], sources: Sequence[Source]) -> GuaranteeError:
        problem = "together with earlier releases about the same respondents, a promise is broken"
        way_out = _DISCARD if self.under.binds_as_owner else _ASK
        if self.under.binds_as_owner:
            names: dict[str, list[str]] = {}
            for each in weak:
                place = self._place(sources[each.number])
                names.setdefault(self._in_words(each, place), []).append(self._named(each))
            problem += ": " + "; ".join(
                f"in {' and '.join(named)}, {text}" for text, named in names.items()
            )
            problem += "; held together with " + ", ".join(self._name(version) for version in self.versions)
        return GuaranteeError(
            str(self.compiled.plan.write.output),
            problem,
            "a release that keeps every promise together with all earlier ones",
            "; ".join((*self._kept_levels(), way_out)),
        )

    def _kept_levels(self) -> tuple[str, ...]:
        """The way out of a further batch; only where an earlier release has levels for this one, too."""
        plan, request = self.compiled.plan, self.under.request
        if not self.under.binds_as_owner or request.recoding_of is not None:
            return ()
        for version in reversed(self.versions):
            kind = recorded_kind(version.plan)
            if kind is not self.capability.kind or self._is_of_others(version):
                continue
            recorded = plan_from_json(version.plan)
            levels = self.capability.published_levels(recorded, version.report)
            if levels and self.capability.can_have_levels(plan, [column for column, _ in levels]):
                return (f"publish it at the levels of {self._name(version)} (--recoding-of {version.iri})",)
        return ()

    def _is_of_others(self, version: TargetVersion) -> bool:
        return self.under.request.submitter not in self.under.registry.ownership.full(version.target)

    def _named(self, release: Weakened) -> str:
        return "this run" if release.number == _THIS_RUN else self._name(self.versions[release.number - 1])

    def _place(self, source: Source) -> str:
        """Which data records are counted in; with one table there is no doubt."""
        if not self.earlier:
            return ""
        name = source.paths[0].name
        return f" of `{name}`" if len(source.paths) == 1 else f" of `{name}` and the parts after it"

    @staticmethod
    def _in_words(release: Weakened, place: str) -> str:
        """What is wrong with one release, for the owner."""
        text = ", ".join(release.problems)
        if not release.respondents:
            return text
        more = "" if len(release.records) == release.respondents else " and more"
        listed = ", ".join(map(str, release.records))
        people = "1 respondent" if release.respondents == 1 else f"{release.respondents} respondents"
        return f"{text}: {people}, in record{'s' if len(release.records) > 1 else ''} {listed}{more}{place}"
