"""What README files show is run."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from printed_output import check_page

ROOT = Path(__file__).parents[2]
ENGINE_README = ROOT / "src" / "censquant" / "_engine" / "training" / "README.md"
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
# Everything that an extra of pyproject.toml brings counts as not installed, but for the pandas that
# the first lines of the README install.
PLAIN_INSTALL = """
import sys
from importlib.machinery import PathFinder

EXTRAS = {"h5py", "jinja2", "matplotlib", "pooch", "pyarrow", "rich", "torch", "typer"}


class CoreFinder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in EXTRAS else super().find_spec(name, path, target)


sys.meta_path = [CoreFinder if finder is PathFinder else finder for finder in sys.meta_path]
"""


def test_code_of_the_readme_runs_after_a_plain_install_and_prints_what_it_shows(
    tmp_path, rewrite_pages
):
    assert len(BLOCKS) == 2
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join([PLAIN_INSTALL, *BLOCKS])],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model.safetensors").is_file()
    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL)
    printed = "".join(done.stdout.splitlines(keepends=True)[: shown[1].count("\n")])
    check_page(ROOT / "README.md", [(*shown.span(1), shown[1], printed)], rewrite=rewrite_pages)


def test_readme_shows_both_commands():
    assert "make demo" in README
    assert "make test" in README


def test_links_and_pictures_of_the_readme_exist():
    targets = re.findall(r"\]\((?!https:)([^)#]+)(?:#[^)]*)?\)", README)
    assert len(targets) > 4
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_method_shown_for_the_engine_trains():
    text = ENGINE_README.read_text(encoding="utf-8")
    code = re.search(r"    @dataclass\(frozen=True\)\n.*?\n\n- `bind", text, re.DOTALL)[0]
    source = "\n".join(line[4:] for line in code.splitlines()[:-1])
    namespace = {"np": np}
    setup = "from dataclasses import dataclass\nfrom censquant.engine import GridObjective\n\n"
    exec(setup + source, namespace)

    from censquant._engine.networks._dense import DenseNetwork
    from censquant._engine.training._loop import TrainingConfig, train
    from censquant._engine.training._rows import Rows

    rng = np.random.default_rng(0)
    times = rng.normal(3.0, 1.0, size=400)
    rows = Rows.from_arrays(np.zeros((400, 1)), time=times, event=np.ones(400, bool))
    network = DenseNetwork([1, 2], rng=rng)
    objective = namespace["Expectile"](taus=(0.5, 0.9))
    train(network, objective, rows, TrainingConfig(max_epochs=100, learning_rate=0.05), rng)
    middle, high = network.predict(np.zeros((1, 1)))[0]
    # The expectile at one half is the mean; higher ones lie above it.
    assert abs(middle - times.mean()) < 0.05
    assert high > middle + 0.5
