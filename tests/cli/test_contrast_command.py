"""``censquant contrast``, and the effect in ``report``."""

import json

import numpy as np
import pytest
from in_process import run

from censquant import load_model
from censquant.datasets import load_gbsg2
from censquant.inspection import contrast

DRUG = ("--feature", "horTh", "--to", "yes", "--from", "no")


@pytest.fixture(scope="module")
def women(tmp_path_factory):
    folder = tmp_path_factory.mktemp("women")
    X, y = load_gbsg2(as_frame=True)
    X = X.assign(
        horTh=np.where(X["horTh"] == 1, "yes", "no"), time=y["time"], event=y["event"].astype(int)
    )
    X = X.assign(site=np.where(np.arange(len(X)) % 2 == 0, "north", "south"))[:300]
    X.to_csv(folder / "women.csv", index=False)
    done = run("fit", folder / "women.csv", "--time", "time", "--event", "event", "--unit", "days",
               "--drop", "site", "--method", "cox", "-o", folder / "model")  # fmt: skip
    assert done.code == 0, done.err
    return folder


def test_the_command_prints_what_the_library_finds(women):
    done = run("contrast", women / "model", women / "women.csv", *DRUG, "--at", "1000", "--by",
               "site", "--method", "doubly_robust", "--json")  # fmt: skip
    found = done.json
    assert [row["group"] for row in found["rows"]] == ["all", "site = north", "site = south"]
    import pandas as pd

    table = pd.read_csv(women / "women.csv")
    X = table.drop(columns=["time", "event", "site"])
    own = contrast(
        load_model(women / "model"), X, (table["time"], table["event"] == 1), feature="horTh",
        to="yes", from_="no", at=1000, by=table["site"], method="doubly_robust",
    )  # fmt: skip
    assert [row["difference"] for row in found["rows"]] == pytest.approx(
        [row.difference for row in own.rows]
    )
    assert found["unit"] == "days"
    assert len(found["assumptions"]) == 6


def test_a_killed_command_continues_with_its_checkpoint(women, tmp_path):
    kept = tmp_path / "refits"
    command = ("contrast", women / "model", women / "women.csv", *DRUG, "--what", "risk", "--at",
               "500,1000", "--checkpoint", kept, "--resamples")  # fmt: skip
    done = run(*command, 3)
    assert done.code == 0, done.err
    assert "3 refits" in done.out
    assert "Times are in days." in done.out
    assert kept.exists()
    assert "4 refits" in run(*command, 4).out
    assert "--checkpoint must be a file of the same contrast" in run(*command, 4, "--seed", 1).error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--to", "maybe"), "--to must be one of the values of 'horTh', 'no', 'yes', got 'maybe'."),
        (("--what", "risk"), "--at must be given for what='risk', got None."),
        (("--method", "ipw"), "--method must be one of 'bootstrap', 'doubly_robust', got 'ipw'."),
        (("--feature", "drug"), "--feature must be one of the columns"),
        (("--by", "horTh"), "--by must be another column than feature"),
    ],
)
def test_wrong_options_are_one_sentence(women, options, message):
    done = run("contrast", women / "model", women / "women.csv", *DRUG, *options)
    assert message in done.error


def test_a_report_has_the_effect_that_is_asked_for(women, tmp_path):
    page = tmp_path / "page.html"
    command = ("report", women / "model", women / "women.csv", "-o", page, "--resamples", 4)
    done = run(*command, "--effect", "horTh", "--to", "yes", "--from", "no", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["report"] == str(page)
    assert "Effect of one feature" in page.read_text(encoding="utf-8")
    assert (
        "--effect, --to and --from must be given together"
        in run(*command, "--force", "--effect", "horTh").error
    )
