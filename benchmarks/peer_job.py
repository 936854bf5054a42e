"""Runs one peer on one file, inside the peer's own environment: it knows nothing of smalti.

    python peer_job.py JOB.json

JOB.json names the peer, the data, the columns, which of them are numbers, and k. The published table
goes to `published`, with a `count` where a line stands for several rows; the seconds of the peer's own
call go to `figures`.
"""

# ruff: noqa: PLC0415 (an environment holds one peer)

import json
import sys
import time

import pandas as pd

SENSITIVE = "income"
GROUP = 4


def anonypy(frame, job):
    from anonypy import Preserver

    def call():
        return Preserver(frame, job["columns"], SENSITIVE).anonymize_k_anonymity(k=job["k"])

    def publish(rows):
        # A generalised value is a list of one text.
        return pd.DataFrame(
            [{name: _first(row[name]) for name in (*job["columns"], "count")} for row in rows]
        )

    return call, publish


def anonypyx(frame, job):
    from anonypyx import Anonymiser

    def call():
        return Anonymiser(
            frame,
            k=job["k"],
            algorithm="Mondrian",
            feature_columns=job["columns"],
            sensitive_column=SENSITIVE,
            generalisation_strategy="human-readable",
        ).anonymise()

    return call, lambda published: published[[*job["columns"], "count"]]


def anjana(frame, job):
    from anjana.anonymity import k_anonymity

    frame = frame.astype(str)
    hierarchies = {name: _hierarchy(frame[name], name in job["numbers"]) for name in job["columns"]}

    def call():
        return k_anonymity(frame, [], job["columns"], job["k"], 0, hierarchies)

    return call, lambda published: published.groupby(job["columns"]).size().reset_index(name="count")


def _hierarchy(column, is_number):
    """Numbers in ranges of 5, 10 and 20; categories in alphabetical groups of 4; then `*`."""
    values = sorted(column.unique(), key=(lambda text: (len(text), text)) if is_number else None)
    levels = [values]
    if is_number:
        numbers = [int(value) for value in values]
        levels += [[_span(number, step, numbers) for number in numbers] for step in (5, 10, 20)]
    elif len(values) > GROUP:
        levels.append([",".join(values[i - i % GROUP :][:GROUP]) for i in range(len(values))])
    levels.append(["*"] * len(values))
    return {number: pd.Series(level, dtype=object) for number, level in enumerate(levels)}


def _span(number, step, numbers):
    low = number - number % step
    low, high = max(low, min(numbers)), min(low + step - 1, max(numbers))
    return f"{low}-{high}"


def _first(value):
    return value[0] if isinstance(value, list) else value


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    kinds = {name: "int64" if name in job["numbers"] else "category" for name in job["columns"]}
    frame = pd.read_csv(
        job["data"], usecols=[*job["columns"], SENSITIVE], dtype=kinds, keep_default_na=False
    )
    call, publish = {"anonypy": anonypy, "anonypyx": anonypyx, "anjana": anjana}[job["peer"]](frame, job)
    wall, cpu = time.perf_counter(), time.process_time()
    published = call()
    figures = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    publish(published).to_csv(job["published"], index=False)
    with open(job["figures"], "w", encoding="utf-8") as file:
        json.dump(figures, file)


if __name__ == "__main__":
    main()
