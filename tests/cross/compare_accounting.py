"""Accounts of private training against those of Opacus."""

import pytest
from opacus.accountants import PRVAccountant, RDPAccountant
from opacus.accountants.accountant import IAccountant

from smalti.transforms.learning.accounting import SampledGaussian

TRAININGS = [(1.0, 0.01, 1000), (2.0, 0.02, 500), (0.8, 0.004, 3000), (1.5, 0.05, 200)]
"""Noise multiplier, sampling rate, steps."""
DELTA = 1e-5
PRECISION = 0.01
"""Of Opacus' loss distributions: what it gives is above the loss, by twice this at most."""


def accounted(accountant: IAccountant, training: tuple[float, float, int]) -> IAccountant:
    accountant.history.append(training)
    return accountant


@pytest.mark.parametrize("training", TRAININGS)
def test_accounts_by_renyi_divergences(training: tuple[float, float, int]) -> None:
    """The same divergences and the same conversion, at almost the same orders."""
    found = SampledGaussian(*training).epsilon_by_renyi(DELTA)
    theirs = accounted(RDPAccountant(), training).get_epsilon(DELTA)
    assert found == pytest.approx(theirs, rel=2e-3)


@pytest.mark.parametrize("training", TRAININGS)
def test_accounts_by_loss_distributions(training: tuple[float, float, int]) -> None:
    found = SampledGaussian(*training).epsilon(DELTA)
    theirs = accounted(PRVAccountant(), training).get_epsilon(DELTA, eps_error=PRECISION)
    assert theirs - 2 * PRECISION <= found <= theirs
