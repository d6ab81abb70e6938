import numpy as np
from numpy.testing import assert_array_equal

from censquant_bench.datasets import fetch_breast_msk, fetch_lgggbm, fetch_tmb_immuno

TIME, STATUS = "Overall Survival (Months)", "Overall Survival Status"


def table(*rows):
    """Tab-separated text with one more column than is needed."""
    headings = ["Study ID", *rows[0]]
    lines = [["of interest to nobody", *map(str, row.values())] for row in rows]
    return "\n".join("\t".join(line) for line in [headings, *lines]) + "\n"


def tmb_row(patient="P-1", age="41", sex="Female", tmb="5.5", time="12.5", status="1:DECEASED"):
    return {
        "Patient ID": patient,
        "Age at Which Sequencing was Reported (Days)": age,
        "Sex": sex,
        "TMB (nonsynonymous)": tmb,
        TIME: time,
        STATUS: status,
    }


def breast_row(patient, er="Positive", her2="Negative", hr="Positive", mutations="4"):
    return {
        "Patient ID": patient,
        "ER Status of the Primary": er,
        "Overall Patient HER2 Status": her2,
        "Overall Patient HR Status": hr,
        "Mutation Count": mutations,
        "TMB (nonsynonymous)": "0.125",
        TIME: "31.5",
        STATUS: "0:LIVING",
    }


def add_tmb(folder, *rows):
    folder.add("tmb_immuno/tmb_immuno_mskcc.tsv", table(*rows))


def test_tmb_immuno_codes_words_and_keeps_numbers(folder):
    add_tmb(folder, tmb_row(), tmb_row("P-2", "70", "Male", "0", "0", "0:LIVING"))
    data = fetch_tmb_immuno(return_X_y=False)
    assert data.feature_names == ("age", "female", "tmb")
    assert_array_equal(data.data.to_numpy(), [[41, 1, 5.5], [70, 0, 0]])
    assert_array_equal(data.target["time"], [12.5, 0])
    assert_array_equal(data.target["event"], [True, False])
    assert data.groups is None


def test_rows_that_lack_a_value_in_use_are_left_out(folder):
    missing = [tmb_row(**{field: "NA"}) for field in ("age", "sex", "tmb", "time", "status")]
    add_tmb(folder, *missing, tmb_row(age=""), tmb_row(age="50"))
    X, _ = fetch_tmb_immuno()
    assert_array_equal(X["age"], [50.0])


def test_a_quotation_mark_is_a_character_like_any_other(folder):
    add_tmb(folder, tmb_row('P"1'), tmb_row('P"2', age="60"))
    assert len(fetch_tmb_immuno()[1]) == 2


def test_receptors_that_are_not_positive_are_zero_and_patients_are_groups(folder):
    text = table(
        breast_row("P-7"),
        breast_row("P-3", er="Unk/ND", her2="Positive", hr="Negative"),
        breast_row("P-7", mutations="9"),
        breast_row("P-9", mutations="NA"),
    )
    folder.add("breast_msk/breast_msk_2018_clinical_data.tsv", text)
    data = fetch_breast_msk(return_X_y=False, as_frame=False)
    assert_array_equal(data.data, [[1, 0, 1, 4, 0.125], [0, 1, 0, 4, 0.125], [1, 0, 1, 9, 0.125]])
    assert data.groups.dtype == np.int64
    assert data.groups[0] == data.groups[2] != data.groups[1]
    assert data.censored_share == 1.0


def test_lgggbm_reads_its_five_features(folder):
    row = {
        "Patient ID": "TCGA-1",
        "Diagnosis Age": "44.0",
        "Sex": "Female",
        "Absolute Purity": "0.49",
        "Mutation Count": "17",
        "TMB (nonsynonymous)": "0.6",
        TIME: "11.8",
        STATUS: "1:DECEASED",
    }
    folder.add("lgggbm/lgggbm_tcga_pub_clinical_data.tsv", table(row))
    X, y = fetch_lgggbm()
    assert list(X.columns) == ["age", "female", "purity", "mutation_count", "tmb"]
    assert_array_equal(X.to_numpy(), [[44, 1, 0.49, 17, 0.6]])
    assert y.tolist() == [(True, 11.8)]
