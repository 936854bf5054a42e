"""k-ary randomised response of a column of a file; the CPU seconds of each phase as JSON.

    python benchmarks/response_job.py local DATA
    python benchmarks/response_job.py spark DATA

From the file to the noisy table: read and stage, take reports, draw, write. Policy, ledger and registry are
not part of it. Phases are of this process, which draws and writes whatever the engine is; what Spark's own
processes take in the first two is in the usage of the whole job only.
"""

# ruff: noqa: PLC0415 (each engine is imported only where it is measured)

import json
import sys
import tempfile
import time
from contextlib import closing
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

COLUMN = "education-num"
VALUES = tuple(map(str, range(1, 17)))
PHASES = ("read", "reports", "draw", "write")


def perturb(engine: str, data: Path) -> dict[str, float]:
    """The CPU seconds of each phase."""
    from smalti.engine.backends.base import Backend
    from smalti.engine.perturbation.draw import draw
    from smalti.engine.perturbation.reports import exact_reports
    from smalti.engine.perturbation.table import write_table
    from smalti.engine.tables.sources import bind
    from smalti.vocab.terms import IRI

    def backend() -> Backend:
        if engine == "local":
            from smalti.engine.backends.local import LocalBackend

            return LocalBackend()
        from smalti.engine.backends.spark import SparkBackend

        return SparkBackend()

    plan = _plan()
    with tempfile.TemporaryDirectory(dir=data.parent) as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        clock = [time.process_time()]
        with closing(backend().open(bind(IRI("http://example.com/data"), data), workspace)) as table:
            clock.append(time.process_time())
            exact = exact_reports(plan, table)
            clock.append(time.process_time())
        noisy = draw(plan, exact)
        clock.append(time.process_time())
        write_table(plan, noisy, Path(folder) / "noisy.csv")
        clock.append(time.process_time())
    spent = [after - before for before, after in pairwise(clock)]
    return dict(zip(PHASES, spent, strict=True))


def _plan():
    from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedCategory, WriteReports
    from smalti.engine.plan.losses import PlannedLoss
    from smalti.engine.plan.plan import OneRowEach, OutputFormat, Select
    from smalti.engine.plan.reads import ReadRows
    from smalti.transforms.noise.randomized_response import RandomizedResponse
    from smalti.vocab.terms import IRI

    response = RandomizedResponse.calibrated(len(VALUES) + 1, 1.0)
    column = PerturbedCategory(COLUMN, Decimal(1), VALUES, has_missing=True, changed=str(response.changed))
    return PerturbationPlan(
        ReadRows(IRI("http://example.com/data"), (), OneRowEach(is_declared=True)),
        Select((COLUMN,), ()),
        (column,),
        PlannedLoss(Decimal(1), Decimal(0), 0.75, 0.5, str(response.loss.pure), "0"),
        WriteReports(IRI("http://example.com/noisy"), OutputFormat.CSV),
    )


if __name__ == "__main__":
    print(json.dumps(perturb(sys.argv[1], Path(sys.argv[2]))))
