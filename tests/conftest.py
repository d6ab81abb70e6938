"""Set-up shared by all tests."""

import os

# Lets scikit-learn run its check of array-API input instead of skipping it; read when scipy loads.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_torch_thread():
    """Two torch threads on a busy two-core machine are many times slower than one."""
    import torch

    torch.set_num_threads(1)
