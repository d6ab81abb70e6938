"""What the tests of data sets share."""

import socket

import pytest

from data_folder import empty_folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Empty data folder, named by CENSQUANT_DATA; the cache is empty too."""
    return empty_folder(tmp_path, monkeypatch)


@pytest.fixture
def nobody():
    """Address at which no server answers."""
    with socket.socket() as taken:
        # Bound and never listening, so that no other process can take the port meanwhile.
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
