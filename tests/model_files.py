"""Model files and checkpoints as a forger would change them: the digest is that of the change."""

import re

import pytest

import censquant
from censquant._files import read_arrays, write_arrays
from censquant.exceptions import ModelFileError


def rewrite(path, *, drop=(), arrays=None, part=(), kind="model", **top):
    """Change a file and sign it anew; ``...`` removes an entry.

    ``part`` has changes of the model's entries, and those of its parameters or description; ``top``
    has changes of the header.
    """
    header, content = read_arrays(path, kind)
    header.pop("digest", None)
    change(header, top)
    for name, value in dict(part).items():
        if name in ("parameters", "description") and isinstance(value, dict):
            change(header["model"][name], value)
        else:
            change(header["model"], {name: value})
    content = {k: v for k, v in {**content, **(arrays or {})}.items() if k not in drop}
    write_arrays(path, kind, header, content)


def change(entries, changes):
    for name, value in changes.items():
        if value is ...:
            del entries[name]
        else:
            entries[name] = value


def refused(path, message, load=censquant.load_model):
    """Loading is refused with a sentence that begins like this."""
    with pytest.raises(ModelFileError, match=f"^{re.escape(repr(str(path)) + ' ' + message)}") as e:
        load(path)
    text = str(e.value)
    assert text.endswith(".")
    assert "\n" not in text
