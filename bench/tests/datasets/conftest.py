"""What the tests of data sets share."""

import pytest

from data_folder import empty_folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Empty data folder, named by CENSQUANT_DATA; the cache is empty too."""
    return empty_folder(tmp_path, monkeypatch)
