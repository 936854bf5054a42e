"""Jobs for those who ask: submit, list, look at, follow, stop and retry.

Command line and service call these functions alone. Who may see a job is decided by the caller: a job says
who asked for it. Everything holds within one registry, whatever the number of its workers.
"""

import re
import secrets
import time
from collections.abc import Iterator, Sequence

from smalti.engine.jobs.folders import JobFolder
from smalti.engine.jobs.requests import JobKind, JobRequest, from_json, party_of, to_json
from smalti.engine.registry.job_entries import NewJob, StoredJob
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.vocab.terms import IRI

POLL_SECONDS = 0.5
"""How often who follows a job looks at it."""
MOST_TRIES = 100
_ID = re.compile("[A-Za-z0-9][A-Za-z0-9-]{0,35}")
"""It names a folder, too."""


def submit(
    registry: Registry,
    request: JobRequest,
    *,
    party: IRI | None = None,
    priority: int = 0,
    tries: int = 1,
    job_id: str | None = None,
) -> StoredJob:
    """Queue a job; a worker begins it.

    Nothing of the request is tried here, but that it is well-formed: what a run would refuse, the job does.

    Args:
        registry: whose job it is, and which its work is recorded in.
        request: what to do.
        party: who asks; None: whom the request names.
        priority: smaller ones are begun first.
        tries: how often it may be begun where its process or its worker is gone without a word. Each try of
            a release is charged. Work that kept a checkpoint is taken up again all the same.
        job_id: the id of the job, to ask once for what is sent twice: at most 36 letters, digits and
            hyphens of ASCII; None: a new one.

    Returns:
        The job; the earlier one, as it is now, where the same party asked for the same under the same id.

    Raises:
        UsageError: the request is malformed, or something else was asked for under that id.
        RegistryError: the registry cannot be written; nothing was queued.
    """
    text = to_json(request)
    from_json(text)
    if not 1 <= tries <= MOST_TRIES:
        raise UsageError("tries (--tries)", f"{tries} is out of range", f"1 to {MOST_TRIES}")
    if job_id is not None and _ID.fullmatch(job_id) is None:
        raise UsageError(
            "id of the job (--id)", "it cannot be an id", "at most 36 letters, digits and hyphens of ASCII",
            "choose another, or leave it out",
        )  # fmt: skip
    return registry.jobs.add(
        NewJob(
            id=job_id or secrets.token_hex(8),
            kind=request.kind.value,
            request=text,
            party=party or party_of(request),
            priority=priority,
            tries=tries,
        )
    )


def jobs(
    registry: Registry,
    *,
    party: IRI | None = None,
    kinds: Sequence[JobKind] = (),
    after: str | None = None,
    limit: int = 1000,
) -> tuple[StoredJob, ...]:
    """A page of jobs, in the order in which they came.

    Args:
        registry: whose they are.
        party: who asked for them; None: all of the registry.
        kinds: of them; none: all.
        after: the id of the last job of the page before.
        limit: of the page.
    """
    names = [kind.value for kind in kinds]
    return registry.jobs.listed(party=party, kinds=names, after=after, limit=limit)


def job_of(registry: Registry, job_id: str) -> StoredJob:
    """The job of an id.

    Raises:
        UsageError: there is none.
    """
    job = registry.jobs.get(job_id)
    if job is None:
        raise _unknown(registry, job_id, is_ambiguous=False)
    return job


def find(registry: Registry, beginning: str) -> StoredJob:
    """The job of an id, or of the only id that begins so; for people.

    Raises:
        UsageError: there is none, or there are several.
    """
    matching = registry.jobs.matching(beginning)
    if len(matching) != 1:
        raise _unknown(registry, beginning, is_ambiguous=bool(matching))
    return matching[0]


def request_of(job: StoredJob) -> JobRequest:
    """What a job is asked to do.

    Raises:
        UsageError: another version of smalti wrote it, and this one does not understand it.
    """
    return from_json(job.request, f"job {job.id}")


def stop(registry: Registry, job_id: str) -> StoredJob:
    """Stop a job. One that is queued is over at once; of one that runs, its worker is told (`wants_stop`).

    Its process cleans up and publishes nothing. What was charged stays charged. A worker kills a process
    that does not end by itself.

    Raises:
        UsageError: there is no such job, or it is over.
    """
    return registry.jobs.stop(job_id)


def retry(registry: Registry, job_id: str) -> StoredJob:
    """Queue a job again that failed, was stopped or died; it goes on from its checkpoint, if it kept one.

    Raises:
        UsageError: there is no such job, it is under way, or it came to its end.
    """
    return registry.jobs.retry(job_id)


def follow(registry: Registry, job_id: str, *, every: float = POLL_SECONDS) -> Iterator[StoredJob]:
    """A job as it is now, and after each change of its state or phase until it is over.

    Args:
        registry: whose it is.
        job_id: of the job.
        every: how often to look, in seconds.

    Raises:
        UsageError: there is no such job.
    """
    shown: tuple[object, ...] = ()
    while True:
        job = job_of(registry, job_id)
        now = (job.state, job.attempts, job.phase, job.wants_stop)
        if now != shown:
            shown = now
            yield job
        if job.state.is_over:
            return
        time.sleep(every)


def last_words(job: StoredJob) -> str:
    """The last lines that the processes of a job printed; empty where this machine does not have them.

    For whoever asked: they show what the command line would have shown to them.
    """
    return "" if job.folder is None else JobFolder(job.folder).last_words


def _unknown(registry: Registry, name: str, *, is_ambiguous: bool) -> UsageError:
    problem = "several jobs have ids that begin so" if is_ambiguous else "it has no job of this id"
    return UsageError(
        f"job {name}",
        f"{problem} in the registry {registry.name}" if is_ambiguous else f"{registry.name}: {problem}",
        "the id of a job that was submitted to this registry",
        "`smalti jobs list` shows them; name another registry with --registry",
    )
