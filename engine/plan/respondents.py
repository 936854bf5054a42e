"""Texts about declared respondents, and about plans that declare none."""

from typing import Final

from smalti.engine.plan.plan import OneRowEach, Respondent

ASSUMED: Final = OneRowEach(is_declared=False)
"""Nothing is declared: what is counted are rows. Runs of earlier versions took each for another person."""
WAYS_TO_DECLARE: Final = (
    "declare it in the policy (a refinement `smalti:respondent` `eq` a column or `smalti:oneRowEach`, with"
    " the context https://w3id.org/smalti/context.jsonld listed last), in the data's description"
    " (`smalti:respondent`), or, as the data's owner, in the request (--respondent COLUMN, or"
    " --one-row-each)"
)
"""The ways to say what tells people apart, for messages; each refusal for want of it names them."""
COUNTED_ROWS: Final = "its respondents were not declared: it counted rows, not people"
"""Of an output whose plan is recorded with `ASSUMED`."""


def counts_rows(respondent: Respondent) -> bool:
    """Whether no respondent was declared, so that rows are counted."""
    return respondent == ASSUMED
