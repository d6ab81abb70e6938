"""The command as a user runs it: in a process of its own."""

import subprocess
import sys

import pytest

import censquant


def run(*arguments, code=None, cwd=None):
    command = [sys.executable, "-m", "censquant", *arguments]
    if code is not None:
        command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=cwd)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return run("demo", cwd=folder), folder / "demo-output"


def test_demo_shows_the_commands_that_it_runs_and_what_they_say(demo):
    result, _ = demo
    assert result.returncode == 0, result.stderr
    for name in ("fit", "evaluate", "report"):
        assert f"$ censquant {name} demo-output" in result.stdout
    for text in ("500 rows", "Calibrated by", "concordance_index", "Written: demo-output/report"):
        assert text in result.stdout


def test_demo_says_where_its_page_is(demo):
    result, folder = demo
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["new.csv", "old.csv", "report.html", "women.model"]
    assert str(folder / "report.html") in result.stdout
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "page-model" in page
    assert 2_000_000 > len(page) > 100_000


def test_demo_shows_its_progress_on_stderr_alone(demo):
    result, _ = demo
    assert "steps" in result.stderr
    assert "steps" not in result.stdout


def test_demo_discriminates_better_than_chance(demo):
    line = next(x for x in demo[0].stdout.splitlines() if "ranked better than chance" in x)
    assert float(line.split("concordance ")[1].split(",")[0]) > 0.6


def test_a_file_in_place_of_the_output_folder_is_one_sentence_and_exit_code_2(tmp_path):
    file = tmp_path / "note.txt"
    file.write_text("kept")
    result = run("demo", "--output", str(file))
    assert result.returncode == 2
    assert result.stderr == f"Error: --output must be a folder, but {str(file)!r} is a file.\n"
    assert file.read_text() == "kept"


def test_an_unknown_command_is_exit_code_2():
    result = run("dmeo")
    assert result.returncode == 2
    assert "dmeo" in result.stderr


def test_a_traceback_shows_where_an_error_arose_if_wanted():
    wrong = ("datasets", "describe", "gbgs")
    sentence = "There is no data set 'gbgs'; did you mean gbsg"
    short, long = run(*wrong), run("--traceback", *wrong)
    assert (short.returncode, long.returncode) == (2, 1)
    assert short.stderr.startswith(f"Error: {sentence}")
    assert short.stderr.count("\n") == 1
    assert "Traceback" in long.stderr
    assert "in describe_dataset" in long.stderr
    assert long.stderr.splitlines()[-1].startswith(f"ValueError: {sentence}")


def test_version_is_the_packages():
    assert run("--version").stdout == f"censquant {censquant.__version__}\n"


def test_help_loads_neither_numba_nor_matplotlib():
    code = (
        "import sys; sys.argv = ['censquant', '--help']\n"
        "from censquant.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'matplotlib', 'sklearn', 'scipy', 'torch'} & set(sys.modules)\n"
        "print('loaded:', sorted(heavy))\n"
    )
    result = run(code=code)
    assert "demo" in result.stdout
    assert result.stdout.endswith("loaded: []\n")


def test_without_typer_one_sentence_says_how_to_get_it():
    code = "import sys; sys.modules['typer'] = None\nfrom censquant.cli import main; main()"
    result = run(code=code)
    assert result.returncode == 2
    assert result.stderr == (
        'The censquant command needs typer. Install it with: pip install "censquant[cli]"\n'
    )


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_without_its_packages_the_demo_says_how_to_get_them(tmp_path, package):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"sys.argv = ['censquant', 'demo', '--output', {str(tmp_path)!r}]\n"
        "from censquant.cli import main; main()"
    )
    result = run(code=code)
    assert result.returncode == 2
    assert 'pip install "censquant[report]"' in result.stderr
    assert "Traceback" not in result.stderr
