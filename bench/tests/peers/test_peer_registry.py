import re
import subprocess
import sys

import pytest

from censquant_bench.peers import PEER_TITLES, Peer, _registry, available_peers, make_peer

NAMES = (
    "sksurv_cox",
    "sksurv_forest",
    "sksurv_boosting",
    "lifelines_cox",
    "lifelines_lognormal",
    "lifelines_weibull",
    "pycox_deepsurv",
    "pycox_deephit",
    "pycox_coxtime",
    "xgboost_aft",
    "ngboost_lognormal",
    "hazardous_boosting",
    "quantile_forest_naive",
    "mapie_naive",
)


@pytest.fixture
def without_lifelines(monkeypatch):
    def find(name):
        return None if name == "lifelines" else object()

    monkeypatch.setattr(_registry, "find_spec", find)


def test_every_peer_has_a_title_of_its_own():
    assert tuple(PEER_TITLES) == NAMES
    assert len(set(PEER_TITLES.values())) == len(NAMES)


def test_titles_cannot_be_changed():
    with pytest.raises(TypeError):
        PEER_TITLES["sksurv_cox"] = "ours"


def test_titles_of_naive_peers_say_that_censoring_is_ignored():
    naive = {name for name, title in PEER_TITLES.items() if "censoring ignored" in title}
    assert naive == {"quantile_forest_naive", "mapie_naive"}


def test_all_peers_of_the_test_environment_are_available():
    assert available_peers() == NAMES


@pytest.mark.usefixtures("without_lifelines")
def test_peers_without_their_library_are_not_available():
    missing = {"lifelines_cox", "lifelines_lognormal", "lifelines_weibull"}
    assert set(available_peers()) == set(NAMES) - missing


@pytest.mark.parametrize("name", NAMES)
def test_a_peer_is_made_by_its_name(name):
    peer = make_peer(name, random_state=3)
    assert isinstance(peer, Peer)
    assert peer.random_state == 3
    assert peer.package


@pytest.mark.usefixtures("without_lifelines")
def test_a_missing_library_is_named_with_the_command_that_installs_it():
    message = (
        "name='lifelines_cox' needs lifelines, which is not installed: "
        'run pip install "censquant-bench[peers]".'
    )
    with pytest.raises(ModuleNotFoundError, match=f"^{re.escape(message)}$"):
        make_peer("lifelines_cox")


def test_an_unknown_name_lists_the_near_ones():
    with pytest.raises(
        ValueError, match=r"no peer 'sksurv_coxx'; did you mean sksurv_cox"
    ) as error:
        make_peer("sksurv_coxx")
    assert "mapie_naive" not in str(error.value)


def test_a_name_far_from_all_lists_them_all():
    with pytest.raises(ValueError, match=r"^There is no peer 'zzz'; there are ") as error:
        make_peer("zzz")
    assert all(name in str(error.value) for name in NAMES)


def test_making_peers_imports_none_of_their_libraries():
    code = """
import sys
from censquant_bench.peers import available_peers, make_peer
for name in available_peers():
    make_peer(name)
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peers = "sksurv lifelines pycox torchtuples torch xgboost ngboost hazardous quantile_forest"
    assert not {*peers.split(), "mapie"} & set(done.stdout.split())
