"""Files made by Hypothesis: the command reads them right or says what is wrong."""

import codecs
import csv
import io
import re
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from in_process import run

from censquant import load_model
from censquant.cli._study import target_digest
from censquant.estimators import load_notes
from censquant.io._options import MISSING
from censquant.survival import Target

SEPARATORS = (",", ";", "\t", "|")
EVENT_CODES = {
    "0/1": ("0", "1"),
    "yes/no": ("no", "yes"),
    "true/false": ("False", "True"),
    "dead/alive": ("alive", "dead"),
    "1/2": ("1", "2"),
}
WORDS = (
    "north",
    "süd",
    "a,b",
    'quoted "word"',
    "two\nlines",
    "x;y",
    " padded ",
    "001",
    "Ærø",
    "7 kg",
)
NAMES = ("age", "größe", "site", "size, cm", 'the "best"', "Age", "temp;C", "x", "y", "日付")


def numbers(decimal):
    shown = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: f"{x:.6g}")
    return shown.map(lambda text: text.replace(".", decimal))


def column(kind, n_rows, decimal):
    """Cells of a column of some kind."""
    cells = {
        "number": numbers(decimal),
        "small": st.integers(0, 3).map(str),
        "comma": numbers(","),
        "word": st.sampled_from(WORDS),
        "date": st.dates().map(str),
        "german": st.dates().map(lambda day: day.strftime("%d.%m.%Y")),
        "mixed": st.one_of(numbers(decimal), st.sampled_from(WORDS)),
        "flag": st.sampled_from(["True", "False"]),
        "constant": st.just("same"),
        "empty": st.just(""),
        "missing": st.one_of(numbers(decimal), st.sampled_from(MISSING)),
        "words, missing": st.one_of(st.sampled_from(WORDS[:3]), st.sampled_from(MISSING)),
        "infinite": st.sampled_from(["inf", "1", "2"]),
    }[kind]
    return st.lists(cells, min_size=n_rows, max_size=n_rows)


KINDS = ("number", "small", "comma", "word", "date", "german", "mixed", "flag", "constant", "empty")
KINDS += ("missing", "words, missing", "infinite", "number", "small", "word", "missing")
OFTEN = st.sampled_from([True, True, True, False])


@st.composite
def files(draw):
    """A file's bytes, options for it, and what is truly in it."""
    n_rows = draw(st.sampled_from([30, 30, 12, 12, 30, 5, 2, 1, 0]))
    separator = draw(st.sampled_from(SEPARATORS))
    decimal = draw(st.sampled_from([".", "."] + [","] * (separator != ",")))
    names, columns = ["days", "status"], []
    time = draw(st.lists(st.integers(1, 500), min_size=n_rows, max_size=n_rows))
    observed = draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
    coding = draw(st.sampled_from(sorted(EVENT_CODES)))
    columns = [[str(t) for t in time], [EVENT_CODES[coding][seen] for seen in observed]]
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(KINDS))
        free = [name for name in NAMES if name not in names]
        names.append(draw(st.sampled_from(free) if draw(OFTEN) else st.sampled_from([*NAMES, ""])))
        columns.append(draw(column(kind, n_rows, decimal)))
    order = draw(st.permutations(range(len(names))))
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=separator,
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n"])),
    )
    writer.writerow([names[place] for place in order])
    writer.writerows([columns[place][row] for place in order] for row in range(n_rows))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    try:
        content = text.getvalue().encode(encoding)
    except UnicodeEncodeError:
        encoding, content = "utf-8", text.getvalue().encode()
    options = ["--time", "days", "--event", "status"]
    if draw(st.sampled_from([coding != "0/1", True, False])):
        options += ["--event-value", EVENT_CODES[coding][1]]
    if decimal == "," and draw(OFTEN):
        options += ["--decimal", ","]
    if encoding == "cp1252" and draw(OFTEN):
        options += ["--encoding", "cp1252"]
    if draw(st.booleans()):
        options += ["--separator", separator]
    truth = Target(np.array(time, dtype=np.float64), np.array(observed, dtype=bool))
    return content, options, truth, dict(zip(names, columns, strict=True)), names, decimal


def true_frame(model, columns, decimal):
    """The features as they are, read without the package."""
    frame = {}
    for name, kind in zip(model.feature_names_in_, model.feature_kinds_, strict=True):
        cells = [None if cell.strip() in MISSING else cell.strip() for cell in columns[name]]
        if kind == "number":
            frame[name] = [np.nan if c is None else float(c.replace(decimal, ".")) for c in cells]
        else:
            frame[name] = pd.Series(cells, dtype=object)
    return pd.DataFrame(frame)


def check(example):
    content, options, truth, columns, names, decimal = example
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data, model = Path(folder) / "data.csv", Path(folder) / "model"
        data.write_bytes(content)
        done = run("fit", data, *options, "--method", "cox", "--jobs", 1, "-o", model, "--json")
        if done.code != 0:
            event(re.sub("'.*?'", "...", done.error)[:60])
            assert not model.exists()
            return
        event("fitted")
        told = done.json
        assert load_notes(model)["digest"] == target_digest(truth)
        used = {*told["features"], *told["left_out"], "days", "status"}
        assert used == {name for name in names if name}
        assert all(names.count(name) == 1 for name in told["features"])
        fitted = load_model(model)
        out = Path(folder) / "out.csv"
        of_text = options[6 if "--event-value" in options else 4 :]
        asked = run(
            "predict", model, data, *of_text, "-o", out, "--beyond", "extrapolate",
            "--quantiles", "0.5", "--keep", "none",
        )  # fmt: skip
        assert asked.code == 0, asked.err
        frame = true_frame(fitted, columns, decimal if "--decimal" in options else ".")
        expected = fitted.predict_quantiles(frame, [0.5], beyond="extrapolate")[:, 0]
        np.testing.assert_allclose(pd.read_csv(out)["q0.5"], expected, rtol=1e-9)


# Each example fits a model: making a failing one smaller would take many minutes.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
UNHURRIED = {"suppress_health_check": list(HealthCheck), "deadline": None, "phases": PHASES}


@settings(max_examples=30, **UNHURRIED)
@given(files())
def test_thirty_messy_files_are_read_right_or_refused_in_one_sentence(example):
    check(example)


@pytest.mark.slow
@settings(max_examples=300, **UNHURRIED)
@given(files())
def test_three_hundred_messy_files_are_read_right_or_refused_in_one_sentence(example):
    check(example)


def test_the_marks_of_encodings_are_those_that_files_begin_with():
    assert "x".encode("utf-16")[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
