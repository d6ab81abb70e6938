"""What is installed, promised and run elsewhere agrees with the files of this project."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import censquant

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
# The extras whose oldest versions are tested; the others take too much space or time.
TESTED_EXTRAS = ("cli", "plot", "report", "pandas", "data")


def source_files(root):
    """Files of a package, without what Python and numba leave beside them."""
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def pins(text):
    """Versions by the name of their package, in lines such as ``numpy==2.0``."""
    return dict(re.findall(r"^([\w-]+)[=>]=([\d.]+)", text, re.MULTILINE))


def release(number):
    """Number of a release without zeros at its end: 2.0 is 2.0.0."""
    return re.sub(r"(\.0)+$", "", number)


def test_the_installed_package_has_every_file_of_its_source():
    installed = source_files(Path(censquant.__file__).parent)
    assert installed == source_files(ROOT / "src" / "censquant")
    assert {"py.typed", "datasets/data/gbsg2.csv"} <= installed


def test_the_installed_version_is_that_of_the_source():
    assert version("censquant") == censquant.__version__


def test_the_oldest_versions_tested_are_the_lowest_that_are_allowed():
    extras = PROJECT["optional-dependencies"]
    allowed = [*PROJECT["dependencies"], *(r for name in TESTED_EXTRAS for r in extras[name])]
    lowest = {name: release(number) for name, number in pins("\n".join(allowed)).items()}
    text = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8")
    tested = {name: release(number) for name, number in pins(text).items()}
    # Needed by an old matplotlib and by the checks of an old scikit-learn, not by this package.
    del tested["pyparsing"], tested["pytest"]
    assert tested == lowest
    assert len(lowest) == 13


@pytest.mark.parametrize("name", PROJECT["optional-dependencies"])
def test_every_requirement_has_a_lower_bound_and_no_upper_one(name):
    for requirement in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][name]]:
        assert re.match(r"censquant\[|[\w-]+>=[\d.]+(;|$)", requirement)


def test_folders_of_tests_are_not_called_like_a_package():
    # pytest puts folders on the path: where the package is missing, the folder would be imported.
    extras = "\n".join(r for extra in PROJECT["optional-dependencies"].values() for r in extra)
    packages = {name.replace("-", "_") for name in re.findall(r"^[\w-]+", extras, re.MULTILINE)}
    packages.add("coverage")  # which numba imports where it is installed
    assert {"torch", "dask"} <= packages
    roots = (ROOT / "tests", ROOT / "bench" / "tests")
    folders = {path.name for root in roots for path in root.rglob("*/")}
    assert not folders & packages


def test_every_target_of_the_makefile_has_a_line_of_help():
    targets = re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE)
    assert targets == re.findall(r"^([a-z-]+):[^#\n]*## \S", MAKEFILE, re.MULTILINE)
    assert set(targets) == set(re.search(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE)[1].split())


def test_a_release_is_cited_by_its_version_and_with_the_paper():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == censquant.__version__
    assert re.findall(r"family-names: (\w+)", text) == ["Pearce", "Jeong", "Jia", "Zhu"]


class TestWorkflows:
    """Read as text: the files are plain, and no parser of YAML is needed to test the core."""

    TEXT = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")
    )

    def test_all_versions_of_python_that_are_promised_are_tested(self):
        promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
        tested = re.search(r"python: \[(.*)\]", self.TEXT)[1]
        assert re.findall(r"3\.\d+", tested) == promised
        assert PROJECT["requires-python"] == f">={promised[0]}"

    def test_they_run_targets_of_the_makefile(self):
        weekly = re.search(r"target: \[(.*)\]", self.TEXT)[1].split(", ")
        targets = {*re.findall(r"\bmake ([a-z-]+)", self.TEXT), *weekly}
        # All that can fail: the others set up, show, rewrite, measure or clean.
        tests = re.findall(r"^(test[a-z-]*|coverage|lint|docs):", MAKEFILE, re.MULTILINE)
        assert targets == set(tests)

    def test_actions_are_pinned_by_commit(self):
        actions = re.findall(r"uses: (\S+)", self.TEXT)
        assert actions
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in actions)
