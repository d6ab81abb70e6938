"""The files behind the data sets that are downloaded: one row each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataFile:
    """One published file: where it lies in a data folder, where it comes from, what it must hold.

    Parameters
    ----------
    path : str
        Place inside a data folder, with slashes.
    url : str
        Address of exactly these bytes.
    checksum : str
        ``sha256:`` and 64 digits, or ``git-sha1:`` and the 40 digits that ``git hash-object``
        prints.
    size : int or None
        Bytes; None where nobody has recorded them.

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> file = describe("whas").files[0]
    >>> file.path, file.size
    ('whas/whas_train_test.h5', 58656)
    """

    path: str
    url: str
    checksum: str
    size: int | None


def _at(repository: str, commit: str, path: str) -> str:
    """Address of a file in a public repository at one commit, whose content cannot change."""
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def _deepsurv(path: str) -> str:
    commit = "f0803f57bff9395f2bfbb99da2f1031adcf01331"
    return _at("jaredleekatzman/DeepSurv", commit, f"experiments/data/{path}")


def _cqrnn(path: str) -> str:
    commit = "e7cf4d8c8070d7133a0c294c6a9452da29ff838a"
    return _at("TeaPearce/Censored_Quantile_Regression_NN", commit, f"02_datasets/{path}")


def _engines(path: str) -> str:
    return _at("LahiruJayasinghe/RUL-Net", "165933e9b370cb64703132b65e52ae4a4db7b29e", path)


def _wine(path: str) -> str:
    return f"https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/{path}"


def _mnist(path: str) -> str:
    return f"https://storage.googleapis.com/cvdf-datasets/mnist/{path}"


_ALL = (
    DataFile(
        "metabric/metabric_IHC4_clinical_train_test.h5",
        _deepsurv("metabric/metabric_IHC4_clinical_train_test.h5"),
        "sha256:e959131973c906c7e8b1e662c81160914768156a6da145a9bfed9b9ee8bf3e72",
        90_016,
    ),
    DataFile(
        "whas/whas_train_test.h5",
        _deepsurv("whas/whas_train_test.h5"),
        "sha256:2ed86f073fdbe34be10f7e485eeaf67b61004521390c46b9a18aa9b82d5e8f9c",
        58_656,
    ),
    DataFile(
        "support/support_train_test.h5",
        _deepsurv("support/support_train_test.h5"),
        "sha256:e398f49930e4efc4ecd675a72ac547f0d1ae25ccf13f6a1024cded12ea88a83e",
        574_112,
    ),
    DataFile(
        "gbsg/gbsg_cancer_train_test.h5",
        _deepsurv("gbsg/gbsg_cancer_train_test.h5"),
        "sha256:bd455f4395322a8b23040c15cedbef00ad51a447d02c95f1f1d686a6b196484b",
        86_592,
    ),
    DataFile(
        "tmb_immuno/tmb_immuno_mskcc.tsv",
        _cqrnn("tmb_immuno_mskcc.tsv"),
        "sha256:63193dc339fce9943d5a4cc3550252c6fd049ccd5f27ecb4cc8dde2942acd712",
        347_293,
    ),
    DataFile(
        "breast_msk/breast_msk_2018_clinical_data.tsv",
        _cqrnn("breast_msk_2018_clinical_data.tsv"),
        "sha256:db403c43de775b7a46353117372ef27a84ac81e17061c7a8369d5a06c9fa2100",
        939_744,
    ),
    DataFile(
        "lgggbm/lgggbm_tcga_pub_clinical_data.tsv",
        _cqrnn("lgggbm_tcga_pub_clinical_data.tsv"),
        "sha256:c047d01226f5ad97a57e778cddb515b554bd3f980c03e089c3afc19b13344a9e",
        477_783,
    ),
    DataFile(
        "housing/cal_housing.data",
        _at("we-b/datasets_for_ai", "51e00cd162ca602c528f114e7d55a0a36803832f", "cal_housing.data"),
        "sha256:534365b6c3c9b07c2b7d88e0ff9f1b41725d8b799748f5c0b80e1067f51c8ab3",
        2_071_604,
    ),
    DataFile(
        "protein/CASP.csv",
        _at(
            "stanfordmlgroup/ngboost",
            "9622ed9051edc1ce0906ca6e7e6e455b6bfeb55f",
            "data/uci/protein.csv",
        ),
        "sha256:4277cfcb4e91a181746cbc654f001b57951c9e6a80f4f795fdb5c807e0848f40",
        3_528_710,
    ),
    DataFile(
        "wine/winequality-red.csv",
        _wine("winequality-red.csv"),
        "sha256:4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
        84_199,
    ),
    DataFile(
        "wine/winequality-white.csv",
        _wine("winequality-white.csv"),
        "sha256:76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
        264_426,
    ),
    # About 7.7 MB; of this file only the name of its content in git has been recorded.
    DataFile(
        "phm2008/train.txt",
        _engines("PHM08/train.txt"),
        "git-sha1:d3c7c8e9db96873f76096d5da76091f96b516061",
        None,
    ),
    DataFile(
        "cmapss_fd001/train_FD001.txt",
        _engines("CMAPSSData/train_FD001.txt"),
        "sha256:963b5e22825b34d8b21c69e1aeb4af3e647050eb672ee8834ba4b5d91d2de0f8",
        3_515_356,
    ),
    DataFile(
        "cmapss_fd001/test_FD001.txt",
        _engines("CMAPSSData/test_FD001.txt"),
        "sha256:3cda7109ce17bafb5443f2ac926cfcf88154b941b8c4cf95eb55d1ddd6f52851",
        2_228_855,
    ),
    DataFile(
        "cmapss_fd001/RUL_FD001.txt",
        _engines("CMAPSSData/RUL_FD001.txt"),
        "sha256:a19c8ec94931949d0485bdc35118206e9c81c4547b422efb9cf86f4ceddbceca",
        429,
    ),
    DataFile(
        "mnist/train-images-idx3-ubyte.gz",
        _mnist("train-images-idx3-ubyte.gz"),
        "sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        9_912_422,
    ),
    DataFile(
        "mnist/train-labels-idx1-ubyte.gz",
        _mnist("train-labels-idx1-ubyte.gz"),
        "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        28_881,
    ),
    DataFile(
        "mnist/t10k-images-idx3-ubyte.gz",
        _mnist("t10k-images-idx3-ubyte.gz"),
        "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        1_648_877,
    ),
    DataFile(
        "mnist/t10k-labels-idx1-ubyte.gz",
        _mnist("t10k-labels-idx1-ubyte.gz"),
        "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        4_542,
    ),
)

FILES: dict[str, DataFile] = {file.path: file for file in _ALL}
"""Files by their place in a data folder."""
