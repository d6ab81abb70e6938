"""Model files and checkpoints as a forger would change them: the digest is that of the change."""

import re

import pytest

import censquant
from censquant._files import read_arrays, write_arrays
from censquant.exceptions import ModelFileError


def rewrite(path, *, drop=(), arrays=None, parameters=None, description=None, kind="model", **top):
    """Change a file and sign it anew; ``...`` removes an entry.

    ``parameters`` and ``description`` are changes of those of a model, ``top`` of the header, or of
    the model's own entries where it has one of that name.
    """
    header, content = read_arrays(path, kind)
    header.pop("digest", None)
    model = header.get("model", {})
    change(model.get("parameters"), parameters or {})
    change(model.get("description"), description or {})
    change(model, {name: value for name, value in top.items() if name in model})
    change(header, {name: value for name, value in top.items() if name not in model})
    content = {k: v for k, v in {**content, **(arrays or {})}.items() if k not in drop}
    write_arrays(path, kind, header, content)


def change(entries, changes):
    for name, value in changes.items():
        if value is ...:
            del entries[name]
        else:
            entries[name] = value


def refused(path, message, load=censquant.load):
    """Loading is refused with a sentence that begins like this."""
    with pytest.raises(ModelFileError, match=f"^{re.escape(repr(str(path)) + ' ' + message)}") as e:
        load(path)
    text = str(e.value)
    assert text.endswith(".")
    assert "\n" not in text
