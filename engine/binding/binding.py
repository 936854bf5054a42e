"""Check whether data may be bound to a target: only its owner may bind it under another IRI.

Who binds data decides what its columns are called and who its respondents are, so binding is the owners'
right (semantics of authority). Parties are asserted by the caller and trusted, here as everywhere.
"""

import hashlib

from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.input_facts import takes_alike
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.kept_secret import load_secret
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.description_content import description_content
from smalti.engine.tables.reading import Contents
from smalti.engine.tables.secret import hmac_digest
from smalti.errors import UsageError
from smalti.vocab.terms import IRI

INPUT_DIGEST = "input"
"""The purpose of the keyed digests of inputs (`secret.hmac_digest`)."""
DESCRIPTION_DIGEST = "description"
"""The purpose of those of what describes them."""


def input_hmac(registry: Registry, digest: str) -> str:
    """The keyed digest under which a registry knows a file.

    Args:
        registry: whose secret is used; it is made when there is none.
        digest: of the file's bytes, with or without `sha256:` before it.
    """
    secret = load_secret(registry.path)
    return hmac_digest(secret, INPUT_DIGEST, bytes.fromhex(digest.removeprefix("sha256:")))


def described_input(registry: Registry, source: Source, contents: Contents) -> str:
    """The keyed digest under which a registry knows what describes a source.

    Args:
        registry: whose secret is used; it is made when there is none.
        source: the files, with their description.
        contents: of the files.
    """
    digest = hashlib.sha256(description_content(source, contents)).digest()
    return hmac_digest(load_secret(registry.path), DESCRIPTION_DIGEST, digest)


def check_described_alike(registry: Registry, source: Source, contents: Contents, submitter: IRI) -> None:
    """Refuse a stranger's description of a target that is not an owner's of the same files.

    Every run calls this before it compiles anything, so that no refusal of a compiler tells what another
    description would make of the data. Versions of an earlier smalti say nothing of descriptions: where
    there are no others, `check_binding` alone compares what a plan takes columns for.

    Args:
        registry: has the registered outputs and inputs.
        source: the target, as it is bound.
        contents: of its files.
        submitter: who binds it.

    Raises:
        UsageError: the target is registered, and a party that does not own it describes it otherwise.
    """
    if not registry.exists or _may_describe(registry, source.target, submitter):
        return
    if registry.outputs.of(source.target):
        # An output's columns and respondents are on record: only an owner may describe them again.
        if source.description != Description():
            raise _otherwise_bound(source, submitter)
        return
    versions = _made_from_these(registry, source, contents)
    if not versions:
        raise _otherwise_bound(source, submitter)
    described = {version.input_description for version in versions} - {None}
    if described and described_input(registry, source, contents) not in described:
        raise UsageError(
            source.description.source or source.path.name,
            f"{submitter} does not own `{source.target}`, and describes its data otherwise than an owner"
            " did, whose word it is what data means",
            "the description that an owner bound to it before, or none where there was none",
            "put the owner's description beside the data as it is, or let an owner bind it (--owner)",
        )


def _may_describe(registry: Registry, target: IRI, submitter: IRI) -> bool:
    ownership = registry.ownership
    return not ownership.is_known(target) or submitter in ownership.full(target)


def _made_from_these(registry: Registry, source: Source, contents: Contents) -> list[TargetVersion]:
    """The versions that were made from these very files, oldest first.

    Those that had them as population are none: a version's plan is about its first input.
    """
    versions = made_from(registry, source.target, contents)
    return [version for version in versions if version.inputs[0].iri == source.target]


def _otherwise_bound(source: Source, submitter: IRI) -> UsageError:
    return UsageError(
        source.path.name,
        f"{submitter} does not own `{source.target}`, and must not bind other data to it, or take its"
        " columns for others than in an owner's run",
        "the data and the description that an owner bound to it before",
        "let an owner bind it (--owner), or use the data that an owner ran it on; where a description"
        " declares every datatype, all policies take its columns for the same",
    )


def check_binding(
    registry: Registry, source: Source, contents: Contents, plan: AnyPlan, submitter: IRI
) -> None:
    """Refuse data that is known under another IRI, and a stranger's binding of a known target.

    Each file is checked by itself: a registered part stays registered, whatever files are beside it.

    Args:
        registry: has the registered outputs and inputs.
        source: the target, as it is bound.
        contents: of its files.
        plan: the plan on it; says what its columns and respondents are taken for.
        submitter: who binds it.

    Raises:
        UsageError: a file belongs to an output, or to another party's input, under another IRI; or the
            target is registered, and a party that does not own it binds or describes it differently.
    """
    if not registry.exists:
        return
    check_named_alike(registry, source, contents, submitter)
    if _may_describe(registry, source.target, submitter):
        return
    if not _is_bound_as_before(registry, source, contents, plan):
        raise _otherwise_bound(source, submitter)


def check_named_alike(registry: Registry, source: Source, contents: Contents, submitter: IRI) -> None:
    """Refuse data that is known under another IRI.

    Args:
        registry: as for `check_binding`, and is there.
        source: the data, as it is bound.
        contents: of its files.
        submitter: who binds it.

    Raises:
        UsageError: a file belongs to an output, or to another party's input, under another IRI.
    """
    versions = registry.outputs.all()
    telling = contents.telling_digests
    _refuse_relabelled_output(source, telling, versions)
    parts = {input_hmac(registry, digest) for digest in telling}
    alike = {
        file.input or version.inputs[0].iri
        for version in versions
        for file in version.report.inputs
        if parts & set(file.digests)
    }
    _refuse_relabelled_input(registry, source, alike, submitter)


def made_from(registry: Registry, target: IRI, contents: Contents | None = None) -> list[TargetVersion]:
    """The versions that were made from a target, oldest first.

    Args:
        registry: which is there.
        target: the IRI.
        contents: only those that were made from these very files; None: from any.
    """
    versions = [
        version for version in registry.outputs.all() if target in {source.iri for source in version.inputs}
    ]
    if contents is not None:
        whole = [input_hmac(registry, digest) for digest in contents.digests]
        versions = [version for version in versions if files_of(version, target) == whole]
    return sorted(versions, key=lambda version: version.created_at)


def _refuse_relabelled_output(
    source: Source, digests: tuple[str, ...], versions: tuple[TargetVersion, ...]
) -> None:
    wholes = {version.whole for version in versions if version.target == source.target}
    for version in sorted(versions, key=lambda version: bool(version.tables)):  # one of these, if it is one
        is_its_own = version.target == source.target or version.target in wholes
        if not is_its_own and {file.digest for file in version.files} & set(digests):
            raise UsageError(
                source.path.name,
                f"it is version {version.number} of `{version.target}`, or a part of it",
                "the IRI that records its respondents and its owners",
                f"bind it with --data {version.target}=...",
            )


def files_of(version: TargetVersion, source: IRI) -> list[str]:
    """The keyed digests of the files of an input."""
    first = version.inputs[0].iri
    return [file.hmac for file in version.report.inputs if (file.input or first) == source]


def _refuse_relabelled_input(registry: Registry, source: Source, alike: set[IRI], submitter: IRI) -> None:
    for alike_iri in alike:
        # Who owns it with others does not get rid of what they prohibit.
        if alike_iri != source.target and registry.ownership.of(alike_iri) != {submitter}:
            raise UsageError(
                source.path.name,
                "this data is registered under another IRI, which another party owns or co-owns",
                "the IRI that its owner's policies name",
                "ask its owner",
            )


def _is_bound_as_before(registry: Registry, source: Source, contents: Contents, plan: AnyPlan) -> bool:
    if registry.outputs.of(source.target):
        return source.description == Description()
    previous = _made_from_these(registry, source, contents)
    plans = [plan_from_json(version.plan) for version in previous]
    # What was once said of respondents, and corrected since, counts no more.
    said = plans and plans[-1].read.respondent == plan.read.respondent
    alike = [earlier for earlier in plans if earlier.read.respondent == plan.read.respondent]
    return bool(said) and takes_alike(plan.input_facts, [earlier.input_facts for earlier in alike])
