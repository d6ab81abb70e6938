"""A place for small files of the published formats."""

import gzip
import hashlib

import numpy as np

from censquant.datasets import _store, catalogue

FILES = {file.path: file for info in catalogue() for file in info.files}


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
