"""A place for small files of the published formats."""

import gzip
import hashlib
import os
import re
from pathlib import Path

import numpy as np

from censquant.datasets import _store, catalogue, load

FILES = {file.path: file for info in catalogue() for file in info.files}

DATA = os.environ.get("CENSQUANT_DATA", "")


def git_blob(content):
    """Name that git gives to a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Folder:
    """A data folder whose files count as the published ones."""

    def __init__(self, root, monkeypatch):
        self.root = root
        self._monkeypatch = monkeypatch

    def add(self, path, content):
        """Put a file there and register its checksum."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(place)
            content = place.read_bytes()
        else:
            content = content.encode() if isinstance(content, str) else content
            place.write_bytes(content)
        kind = FILES[path].checksum.partition(":")[0]
        digest = git_blob(content) if kind == "git-sha1" else hashlib.sha256(content).hexdigest()
        self.publish(path, checksum=f"{kind}:{digest}")
        return place

    def publish(self, path, **facts):
        """Change what is known of a published file, as long as the test runs."""
        for name, value in facts.items():
            # Through the dict, because the file is frozen.
            self._monkeypatch.setitem(vars(FILES[path]), name, value)

    def add_idx(self, path, array):
        """Put an array there as a gzipped idx file of unsigned bytes."""
        header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
        return self.add(path, gzip.compress(header + array.astype(np.uint8).tobytes()))


def empty_folder(tmp_path, monkeypatch):
    """Empty data folder, named by CENSQUANT_DATA; the cache is empty too."""
    root = tmp_path / "data"
    root.mkdir()
    monkeypatch.setenv("CENSQUANT_DATA", str(root))
    monkeypatch.setenv("CENSQUANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_store, "_checked", set())
    # Local servers are asked directly, whatever the machine's settings.
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    return Folder(root, monkeypatch)


def is_here(info):
    """Whether this machine has the published files of a set."""
    return all((Path(DATA) / file.path).is_file() for file in info.files) and (
        info.kind == "bundled" or bool(DATA)
    )


def facts(info):
    return info.n_samples, info.n_features, round(info.censored_share * info.n_samples)


def check_counts(info, n_rows, n_features, n_censored, n_groups):
    """Facts are compared everywhere; the files too, where CENSQUANT_DATA has them."""
    assert facts(info) == (n_rows, n_features, n_censored)
    assert bool(info.groups) == (n_groups is not None)
    for file in info.files if is_here(info) else ():
        assert file.size is None or (Path(DATA) / file.path).stat().st_size == file.size
    if is_here(info):
        data = load(info.name, return_X_y=False)
        assert data.data.shape == (n_rows, n_features)
        assert round(data.censored_share * n_rows) == n_censored
        assert (None if data.groups is None else len(np.unique(data.groups))) == n_groups
        assert tuple(data.data.columns) == data.feature_names
        assert np.isfinite(data.data.select_dtypes("number").to_numpy()).all()
        assert not data.data.isna().to_numpy().any()
        assert (data.description, data.source, data.licence) == (
            info.description,
            info.source,
            info.licence,
        )


def check_file(file):
    """Whether a published file is registered completely."""
    assert file.url.startswith("https://")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}|git-sha1:[0-9a-f]{40}", file.checksum)
    assert file.size is None or file.size > 0
    if "raw.githubusercontent.com" in file.url:
        # A branch may move; a commit cannot.
        assert re.search(r"/[0-9a-f]{40}/", file.url)
