"""Damaged and forged files: what the fuzz tests open."""

import copy
import json

import numpy as np
from safetensors.numpy import load, save

from censquant._files import content_digest

KEY = "censquant"

# Stands in a JSON text for what json.dumps would never write.
RAW = {
    "@1e400@": "1e400",
    "@-1e400@": "-1e400",
    "@nan@": "NaN",
    "@infinity@": "-Infinity",
    "@digits@": "9" * 5000,
    "@integer@": "7" * 39,
    "@lists@": "[" * 5000 + "]" * 5000,
    "@objects@": '{"a":' * 3000 + "0" + "}" * 3000,
    "@twice@": '{"a": 1, "a": 2}',
    "@surrogate@": '"\\ud800"',
}
VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 20_000, 2**31, 2**63, -(2**63), 10**12, 10**20, 0.0, 0.5,
    -1.5, 1e-320, 1e308, "", "x", "nan", "é", "../x", "__class__", "sklearn.pipeline.Pipeline",
    "CQRNN", [], [0], [1, 2], [0.9, 0.1], [[]], ["a"], [20_000, 20_000], {}, {"a": 1}, {"": None},
    {"$part": "a"}, {"$array": "a"}, {"$number": "x"}, {"$objects": 3}, {"$type": "numpy.load"},
    *RAW,
]  # fmt: skip


def mutated_bytes(content, rng):
    """The content with some bits, bytes or stretches changed."""
    data = bytearray(content)
    place = int(rng.integers(len(data)))
    length = int(rng.integers(1, 40))
    match rng.integers(9):
        case 0 | 1:
            data[place] ^= 1 << int(rng.integers(8))
        case 2:
            data[place] = int(rng.integers(256))
        case 3:
            del data[place:]
        case 4:
            data[place:place] = rng.bytes(length)
        case 5:
            del data[place : place + length]
        case 6:
            data[place : place + length] = bytes(len(data[place : place + length]))
        case 7:  # the length of the header stands in the first bytes
            data[int(rng.integers(8))] = int(rng.integers(256))
        case 8:
            data += data[place : place + length]
    return bytes(data)


def as_text(tree):
    text = json.dumps(tree, sort_keys=True)
    for mark, token in RAW.items():
        text = text.replace(json.dumps(mark), token)
    return text


def nodes(tree):
    """Containers and keys of all entries of a JSON value."""
    found, open_ = [], [tree]
    while open_:
        node = open_.pop()
        keys = node if isinstance(node, dict) else range(len(node))
        for key in list(keys):
            found.append((node, key))
            if isinstance(node[key], dict | list):
                open_.append(node[key])
    return found


def mutated_json(text, rng):
    """The text with one or a few of its entries changed, removed, renamed, nested or swapped."""
    root = [json.loads(text)]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        places = nodes(root)
        node, key = places[rng.integers(len(places))]
        match rng.integers(8):
            case 0 | 1 | 2:
                node[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
            case 3 if isinstance(node, dict):
                del node[key]
            case 4 if isinstance(node, dict):
                node[VALUES[21 + rng.integers(6)]] = node.pop(key)
            case 5:
                for _ in range(rng.choice([1, 2, 50, 300])):
                    node[key] = [node[key]] if rng.random() < 0.5 else {"a": node[key]}
                break  # deeper than a second walk should go
            case 6 if isinstance(node[key], int | float):
                node[key] = node[key] * int(rng.choice([-1, 0, 2, 1000, 10**9]))
            case _:
                other, place = places[rng.integers(len(places))]
                node[key] = json.loads(json.dumps(other[place]))
    return as_text(root[0])


def mutated_array(array, rng):
    """The array with other values, another shape or another type."""
    array = array.copy()
    match rng.integers(7):
        case 0 | 1 if array.size and array.dtype.kind == "f":
            value = [np.nan, np.inf, -np.inf, 1e30, -1e30, 0.0][rng.integers(6)]
            array.flat[rng.integers(array.size)] = value
        case 2:
            return array.reshape(-1)[: rng.integers(array.size + 1)]
        case 3:
            return np.concatenate([array.ravel(), array.ravel()])
        case 4:
            return array.reshape((1, *array.shape))
        case 5:
            return array.astype(rng.choice(["f2", "f4", "f8", "i8", "i4", "u1", "?"]))
        case _ if array.size:
            bits = array.reshape(-1).view(np.uint8)
            bits[rng.integers(bits.size)] ^= 1 << rng.integers(8)
    return array


def mutated_arrays(arrays, rng):
    names = sorted(arrays)
    name = names[rng.integers(len(names))]
    match rng.integers(5):
        case 0:
            return {k: v for k, v in arrays.items() if k != name}
        case 1:
            other = str(rng.choice([f"{name}x", f"a/{name}", "member7.parameters", "x"]))
            return {other if k == name else k: v for k, v in arrays.items()}
        case _:
            with np.errstate(all="ignore"):
                return {k: mutated_array(v, rng) if k == name else v for k, v in arrays.items()}


def mutated_layout(content, rng):
    """The file with a changed list of its arrays: types, shapes, places."""
    length = int.from_bytes(content[:8], "little")
    text = mutated_json(content[8 : 8 + length].decode(), rng)
    if rng.random() < 0.3:
        text = text.replace('"F32"', str(rng.choice(['"BF16"', '"F64"', '"F8_E4M3"', '"Q"'])), 1)
    data = text.encode(errors="surrogatepass")
    return len(data).to_bytes(8, "little") + data + content[8 + length :]


def sign(text, arrays):
    """Header with the digest of a changed content, as a forger would write it."""
    return f'{{"digest": "{content_digest(text, arrays)}", {text[1:]}'


def mutated_file(content, rng, sign=None):
    """A changed safetensors file of ours, and whether its digest was made anew for the change.

    ``sign(text, arrays)`` returns a header with the digest of its content, as a forger would.
    """
    kind = rng.random()
    if kind < 0.4:
        return mutated_bytes(content, rng), False
    if kind < 0.5:
        return mutated_layout(content, rng), False
    length = int.from_bytes(content[:8], "little")
    text = json.loads(content[8 : 8 + length])["__metadata__"][KEY]
    arrays = load(content)
    header = json.loads(text)
    stored = header.pop("digest", None)
    text = as_text(header)
    if kind < 0.8:
        text = mutated_json(text, rng)
    else:
        arrays = mutated_arrays(arrays, rng)
    signed = sign is not None and rng.random() < 0.7 and text.startswith("{")
    if signed:
        text = sign(text, arrays)
    elif stored is not None:
        text = f'{{"digest": "{stored}", {text[1:]}'
    contiguous = {k: np.ascontiguousarray(v) for k, v in arrays.items()}
    return save(contiguous, metadata={KEY: text}), signed


def mutated_lines(content, rng):
    """A changed file of JSON lines."""
    if rng.random() < 0.4:
        return mutated_bytes(content, rng)
    lines = content.split(b"\n")
    place = int(rng.integers(len(lines) - 1))
    match rng.integers(6):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[int(rng.integers(len(lines)))])
        case 2:
            lines[place] = as_text(VALUES[rng.integers(len(VALUES))]).encode()
        case _:
            lines[place] = mutated_json(lines[place].decode(), rng).encode()
    return b"\n".join(lines)
