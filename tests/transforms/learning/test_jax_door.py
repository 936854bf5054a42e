"""The door to JAX: its threads, its message, and who waits for it. Each in a process of its own."""

import os
import subprocess
import sys

import pytest

from smalti.errors import install_line

MISSING = """
import sys
sys.modules["{library}"] = None
from smalti.errors import BackendError
try:
    {use}
except BackendError as error:
    print(error)
"""


def output(script: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={name: value for name, value in os.environ.items() if name != "XLA_FLAGS"} | environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return run.stdout


FLAGS = "import os; import smalti.transforms.learning._jax; print(os.environ['XLA_FLAGS'])"


def test_one_thread_is_asked_for_where_nobody_says_otherwise() -> None:
    assert "--xla_cpu_multi_thread_eigen=false" in output(FLAGS)


@pytest.mark.slow
def test_flags_of_the_user_stay() -> None:
    assert (
        output(FLAGS, XLA_FLAGS="--xla_cpu_enable_fast_math=false") == "--xla_cpu_enable_fast_math=false\n"
    )


@pytest.mark.parametrize(
    ("library", "use"),
    [
        ("jax", "import smalti.transforms.learning.training"),
        pytest.param(
            "dp_accounting",
            "from smalti.transforms.learning.accounting import SampledGaussian;"
            " SampledGaussian(1.0, 0.1, 2).epsilon(0.1)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_missing_library_is_named_with_its_extra(library: str, use: str) -> None:
    said = output(MISSING.format(library=library, use=use))
    assert library.replace("_", "-") in said
    assert install_line("audit").partition(": ")[2] in said


@pytest.mark.slow
def test_a_jax_that_is_too_old_is_told() -> None:
    script = """
import jax
import numpy as np
from smalti.errors import BackendError
from smalti.transforms.learning import training
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.randomness import Seeded
del jax.enable_x64
one = np.zeros((1, 2)), np.zeros(1, int), np.ones((1, 1), bool)
try:
    training.train(Architecture(2, (), 2), Hyperparameters(1, 1, 0.1), *one, Seeded(1))
except BackendError as error:
    print(error)
"""
    said = output(script)
    assert "version 0.8 or newer" in said
    assert install_line("audit").partition(": ")[2] in said


def test_what_a_plan_needs_brings_no_heavy_library() -> None:
    script = """
import sys
from smalti.studies.comparison import local_response, skewed_purchases
from smalti.transforms.learning import accounting, architecture, hyperparameters, randomness, recipes
heavy = {"jax", "dp_accounting", "scipy", "opendp", "safetensors"}
print(heavy & {name.partition(".")[0] for name in sys.modules})
"""
    assert output(script) == "set()\n"
