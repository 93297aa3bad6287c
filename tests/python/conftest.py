"""What the tests of the Python package share: a runtime, and random arrays."""

import os
from collections.abc import Iterator
from pathlib import Path

import clattn
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def runtime() -> Iterator[clattn.Runtime]:
    with clattn.Runtime() as made:
        yield made


@pytest.fixture
def rng() -> np.random.Generator:
    seed = int(os.environ.get("CLATTN_SEED", "42"))
    print(f"CLATTN_SEED={seed}")  # shown where the test fails
    return np.random.default_rng(seed)
