"""What a receiver of a network reads from its header is what it was trained on."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_worlds import AUDIT, permission, planned, recorded, training, untrained
from perturbed_worlds import CITIES, row

from smalti.engine.backends.local import LocalBackend
from smalti.engine.training.inputs import ENTRY, Inputs, header_of, read_inputs
from smalti.errors import DataError
from smalti.transforms.learning.model_files import load, save

TEXTS = {
    "sex": st.sampled_from(["f", "m"]),
    "city": st.sampled_from([*CITIES, "wombat", ""]),
    "age": st.one_of(st.integers(-5, 120).map(str), st.sampled_from(["", "wombat"])),
    "spend": st.one_of(st.sampled_from(["", "1000000000", "x"]), st.decimals(-2, 4, places=3).map(str)),
}


@settings(max_examples=20)
@given(said=st.lists(st.fixed_dictionaries(TEXTS), min_size=1, max_size=20))
def test_a_row_is_encoded_as_in_training(said: list[dict[str, str]]) -> None:
    rows = [row(who=str(number), **texts) for number, texts in enumerate(said)]
    plan, records = recorded(LocalBackend(), rows, permission(training(), AUDIT))
    inputs = Inputs(plan.train.features, plan.train.label)
    encoded = inputs.encoded({name: [one[name] or None for one in said] for name in TEXTS})
    assert encoded.dtype == np.float32
    found, wanted = (sorted(map(tuple, array.tolist())) for array in (encoded, records.features))
    assert found == wanted


def test_the_header_says_it_and_the_network_is_read_as_before(tmp_path: Path) -> None:
    plan, path = planned(permission(training(), AUDIT)), tmp_path / "model.safetensors"
    save(untrained(plan), path, header_of(plan.train))
    assert read_inputs(path) == Inputs(plan.train.features, plan.train.label)
    assert load(path).description == untrained(plan).description
    assert read_inputs(path).label.values == ("f", "m")


def test_a_file_that_does_not_say_it_and_a_column_that_lacks_are_told(tmp_path: Path) -> None:
    plan, plain = planned(permission(training(), AUDIT)), tmp_path / "plain.safetensors"
    save(untrained(plan), plain)
    (tmp_path / "none.safetensors").write_bytes(b"wombat")
    for path in (plain, tmp_path / "none.safetensors"):
        with pytest.raises(DataError, match=ENTRY):
            read_inputs(path)
    inputs = Inputs(plan.train.features, plan.train.label)
    with pytest.raises(DataError, match="age, spend"):
        inputs.encoded({"city": ["wombat"]})
