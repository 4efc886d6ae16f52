"""A run that cannot learn any more is ended: equal rewards, no readable answer, nothing scored, numbers that are none."""

import math

import pytest

from salon_taxonomy.errors import IncompleteError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.configuration.schema import DegenerationSection
from salon_train.run.completion_parsing import read_assessment
from salon_train.run.early_abort import DegeneratedError, DegenerationMonitor, SampledBatch

GOOD = SampledBatch([[1.0, 0.0], [2.0, 2.0]], readable=4)
EQUAL = SampledBatch([[1.0, 1.0], [0.0, 0.0]], readable=4)
INVALID = SampledBatch([[1.0, 0.0], [2.0, 2.0]], readable=0)
LOST = SampledBatch([[math.nan, math.nan]], readable=2)
LIMITS = DegenerationSection(equal_rewards=3, invalid_answers=3, unscored=3)


def test_hostile_replies_are_no_readable_answers():
    assert not any(read_assessment(reply).readable for reply in HOSTILE_REPLIES)


@pytest.mark.parametrize(("bad", "reason"), [(EQUAL, "equal_rewards"), (INVALID, "invalid_answers"), (LOST, "unscored")])
def test_so_many_bad_batches_in_a_row_end_a_run_and_a_good_one_between_them_does_not(bad, reason):
    monitor = DegenerationMonitor(LIMITS)
    for step, batch in enumerate([bad, bad, GOOD, bad, bad]):
        monitor.sampled(batch, step=step)
    with pytest.raises(DegeneratedError, match="ended at step 5: for 3 generation batches in a row") as error:
        monitor.sampled(bad, step=5)
    assert (error.value.reason, error.value.step) == (reason, 5)
    assert isinstance(error.value, IncompleteError)  # exit code 1


def test_zero_never_ends_a_run():
    monitor = DegenerationMonitor(DegenerationSection(equal_rewards=0, invalid_answers=0, unscored=0))
    for step in range(100):
        for batch in (EQUAL, INVALID, LOST):
            monitor.sampled(batch, step=step)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_a_loss_or_gradient_that_is_no_number_ends_a_run_at_once(what, value):
    monitor = DegenerationMonitor(DegenerationSection())
    getattr(monitor, what)(1e9, step=1)
    with pytest.raises(DegeneratedError, match="the weights were not changed by it") as error:
        getattr(monitor, what)(value, step=2)
    assert error.value.reason == what


def test_a_group_whose_one_completion_was_scored_teaches_nothing():
    assert SampledBatch([[1.0, math.nan], [1.0, 1.0], [0.0, 1.0]], readable=6).equal == 2
