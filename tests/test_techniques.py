"""Each technique has an example that runs, a page, and a sentence of what it does not protect from."""

import re
from pathlib import Path

import pytest

from smalti.policy.read.parse import load
from smalti.vocab.techniques import NOT_COVERED
from smalti.vocab.terms import ALGORITHM, ANATOMY, MASKING, MDAV
from smalti.vocab.words import BY_IRI

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "policies"
MASKED = "masking.md"
TECHNIQUES: dict[str, tuple[str, str, str, str]] = {
    "microaggregation as a way to k": (
        MDAV, "contraceptive-groups.yaml", "how-to/choose-a-model.md",
        "its mean is that number, exactly",
    ),
    "microaggregation as perturbation": (MDAV, "contraceptive-averages.yaml", MASKED, NOT_COVERED[MDAV]),
    "anatomy": (
        ANATOMY, "contraceptive-anatomy.jsonld", "how-to/two-tables.md",
        "It does not protect from being found.",
    ),
    "bucketization": (
        ANATOMY, "contraceptive-anatomy.jsonld", "how-to/two-tables.md", "## Bucketization in one table",
    ),
    **{
        name: (name, example, MASKED, NOT_COVERED[name])
        for name, example in (
            ("sampling", "contraceptive-sample.yaml"),
            ("record-suppression", "patients-masked.yaml"),
            ("cell-suppression", "contraceptive-masked.jsonld"),
            ("attribute-suppression", "contraceptive-masked.jsonld"),
            ("generalization", "patients-masked.yaml"),
            ("global-recoding", "contraceptive-masked.jsonld"),
            ("top-coding", "contraceptive-masked.jsonld"),
            ("bottom-coding", "contraceptive-masked.jsonld"),
            ("noise-addition", "contraceptive-sample.yaml"),
            ("pseudonymization", "visits-pseudonyms.yaml"),
        )
    },
}  # fmt: skip
"""By technique: its algorithm, an example, the page of the documentation, and what stands there."""
RUNNING = ("engine/masking/test_masking_examples.py", "engine/bucketization/test_anatomy_runs.py")
"""The tests that run examples; those that a page shows are run with it."""


@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_technique_has_an_example_a_page_and_a_sentence(name: str) -> None:
    algorithm, example, page, sentence = TECHNIQUES[name]
    (policy,) = load(EXAMPLES / example).policies
    way = policy.permissions[0].anonymization
    assert way is not None
    assert algorithm in way.algorithms
    assert (way.method == MASKING) == (page == MASKED)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert sentence in text
    assert f"`{algorithm}`" in text or f"algorithm: {algorithm}" in text
    run = "".join((ROOT / "tests" / test).read_text(encoding="utf-8") for test in RUNNING)
    assert example in run or re.search(rf"\$ smalti (?:try|run) policies/{re.escape(example)}", text)


def test_no_technique_lacks() -> None:
    described = {algorithm for algorithm, *_ in TECHNIQUES.values()}
    assert set(BY_IRI[ALGORITHM].names) - {"mondrian", "incognito"} == described
    assert NOT_COVERED.keys() <= described
