"""smalti: a policy-driven sanitization engine.

A data owner writes an ODRL policy; smalti checks it, compiles it into a plan, runs the plan, re-measures
the output, and records it as a new object that later policies can authorize.

    assess       what tells the people of a table apart, before there is a policy
    init         a description and a policy to edit, from a table
    check        every finding about a policy document
    load_policy  a policy from a file
    new_policy   a policy written in code, rule by rule
    offer        the public part of a policy, as an offer to other connectors
    plan         what a run would do to each column, and why
    try_out      a run that stops before it records anything, for the data's owner
    sweep        risk against loss with many numbers, for the data's owner
    run          run it, verify and register the output
    decide       whether a party may perform an action, by the registry, and why
    authorize    the same by policies passed in: pure, for layers that store policies themselves
    parse        the policies of a document's bytes, with every finding
    read_published   a published table with low, high, mid, missing and sets as typed columns
    verify       verify a published output again
    budget       privacy loss of releases about the same respondents, for owners; `forecast` of more
    query        a query file, read for a release
    estimate     shares and means, from a table of perturbed records
    Choices      what a run may be asked for besides policy, data and party
    Watch        is told of each phase of a run
    Registry     policies, owners, outputs with their versions, decisions

Parties are asserted by the caller and trusted; authentication belongs to the program that embeds this.
"""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smalti.api import (
        IRI,
        Assessment,
        Choices,
        Decision,
        Diagnostic,
        Effect,
        Fact,
        Hierarchies,
        Outcome,
        Planned,
        PolicyDocument,
        PolicyInCode,
        Recheck,
        Registry,
        Request,
        Scaffold,
        Sweep,
        Trial,
        Watch,
        assess,
        authorize,
        budget,
        check,
        decide,
        estimate,
        explain,
        forecast,
        init,
        load_policy,
        new_policy,
        offer,
        parse,
        plan,
        query,
        read_published,
        run,
        sweep,
        try_out,
        verify,
    )
    from smalti.errors import SmaltiError

    __version__: str

__all__ = [
    "IRI",
    "Assessment",
    "Choices",
    "Decision",
    "Diagnostic",
    "Effect",
    "Fact",
    "Hierarchies",
    "Outcome",
    "Planned",
    "PolicyDocument",
    "PolicyInCode",
    "Recheck",
    "Registry",
    "Request",
    "Scaffold",
    "SmaltiError",
    "Sweep",
    "Trial",
    "Watch",
    "__version__",
    "assess",
    "authorize",
    "budget",
    "check",
    "decide",
    "estimate",
    "explain",
    "forecast",
    "init",
    "load_policy",
    "new_policy",
    "offer",
    "parse",
    "plan",
    "query",
    "read_published",
    "run",
    "sweep",
    "try_out",
    "verify",
]


# Whoever wants to see what is logged adds a handler of their own.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Loaded when asked for: `import smalti` alone stays cheap for whoever needs one room only.
    if name == "SmaltiError":
        from smalti.errors import SmaltiError  # noqa: PLC0415

        return SmaltiError
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("smalti")
    if name in __all__:
        from smalti import api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(f"module 'smalti' has no attribute {name!r}")
