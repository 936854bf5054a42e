"""What other tools lose on the Adult data set at k = 10, as measured elsewhere: quoted, not run here.

32,561 rows with `?` as a value, income released, one run each in November 2026. The figure is the
global certainty penalty with sets charged (n - 1) / (D - 1) (`quality.Quality.gcp_steps`), and the
tightest description of each class, whatever its label says: the kindest reading of each tool.
"""

from collections.abc import Iterator

from results import QUOTED, LossRow

_QUOTED = (
    # tool, its version and setting; then figure and classes with 4 quasi-identifiers, and with 8
    ("ARX 3.9.2, local recoding", (0.0146, 940), (0.0554, 2474)),
    ("mosaicrown/mondrian d83e823, normalised span", (0.0271, 693), (0.0550, 2123)),
    ("mosaicrown/mondrian d83e823, its default", (0.0503, 680), (0.1814, 2130)),
    ("project-lighthouse-anonymize 1.0.0", (0.0191, 918), (0.0943, 2206)),
    ("anonypy 0.2.1", (0.0312, 676), (0.0642, 2070)),
    ("anonypyx 0.2.11", (0.0312, 676), (0.0642, 2070)),
    ("umbra-k 0.1.0", (0.0632, 1459), (0.2681, 2047)),
    ("polarfrost 0.2.1", (0.2771, 270), (0.4225, 613)),
    ("anonymity-api 1.0.4", (0.3713, 256), (0.6067, 256)),
    ("anjana 1.2.3", (0.4795, 20), (0.5671, 32)),
)


def rows() -> Iterator[LossRow]:
    """The quoted figures, for the table of losses."""
    for tool, *figures in _QUOTED:
        for columns, (gcp, classes) in zip((4, 8), figures, strict=True):
            yield LossRow(
                tool=tool,
                columns=columns,
                gcp=None,
                gcp_steps=gcp,
                k=None,
                classes=classes,
                source=QUOTED,
            )
