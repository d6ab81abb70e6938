import pytest

from censquant._engine.networks import _dense as _blas


@pytest.mark.parametrize(
    ("architectures", "expected"),
    [
        (["SkylakeX"], 1_000_000),
        (["Haswell", "SapphireRapids"], 1_000_000),
        (["Haswell"], 0),
        ([None], 0),
        ([], 0),
    ],
)
def test_small_products_are_for_processors_that_have_kernels_for_them(
    monkeypatch, architectures, expected
):
    libraries = [{"architecture": name} for name in architectures]
    monkeypatch.setattr(_blas, "threadpool_info", lambda: libraries)
    assert _blas.small_product.__wrapped__() == expected


def test_the_machine_at_hand_gets_an_answer():
    assert _blas.small_product() in (0, 1_000_000)
