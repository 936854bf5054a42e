"""The release of `release_job.py` by OpenDP's query layer over Polars, inside an environment of its own.

    python release_peer.py JOB.json

JOB.json is a question of `release_job.py`, with the file in `data`. Answers are noisy, and not printed.
"""

import json
import sys

import opendp.prelude as dp
import polars as pl

MOST_ROWS = (1 << 32) - 1
"""A public bound of the rows of the file, which sums of whole numbers ask for."""


def main():
    dp.enable_features("contrib")
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    types = {job["by"]: pl.String, job["histogram"]: pl.String, job["measure"]: pl.Int64}
    context = dp.Context.compositor(
        data=pl.scan_csv(job["data"], schema_overrides=types).select(list(types)),
        privacy_unit=dp.unit_of(contributions=job["rows"]),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
        margins=[dp.polars.Margin(by=[], max_length=MOST_ROWS)],
    )
    numbers = pl.LazyFrame({job["histogram"]: job["values"]})
    groups = pl.LazyFrame({job["by"]: job["groups"]})
    counted = context.query().group_by(job["histogram"]).agg(dp.len(signed=True)).with_keys(numbers)
    amount = pl.col(job["measure"]).fill_null(0).dp.sum((0, job["upper"]))
    summed = context.query().group_by(job["by"]).agg(amount).with_keys(groups)
    released = counted.release().collect(), summed.release().collect()
    print(json.dumps([frame.height for frame in released]))


if __name__ == "__main__":
    main()
