"""The recommended estimator by the protocol of the published SurvivalPFN scores.

SurvSet's data sets, rows with a positive time; a random 70 % of the rows for training with seeds 0
to 9; SurvivalEVAL's concordance, mean absolute error of the predicted median (pseudo-observations,
weighted), integrated Brier score and D-calibration. The published file has the columns dataset,
metric (CI, MAE, IBS, Dcal(stats)), mean. Both tools are GPL and used by this script only:

    pip install SurvSet==0.2.11 SurvivalEVAL==0.6.1
    python bench/scripts/survivalpfn.py published.csv --out rows.csv [--seeds 0 10] [--sets burn]

Rows are appended to the file as they are computed, and those in it are not computed again.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import chi2
from SurvivalEVAL import PointEvaluator, SurvivalEvaluator
from SurvSet.data import SurvLoader

from censquant import CensoredQuantileRegressor

METRICS = {"CI": 1, "MAE": -1, "IBS": -1, "Dcal(stats)": -1}  # 1: higher is better


def features_and_target(name: str) -> pd.DataFrame:
    """Return a data set as numbers, with the columns time and event."""
    frame = SurvLoader().load_dataset(name)["df"]
    frame = frame[frame["time"] > 0].drop(columns="pid")
    factors = [column for column in frame if column.startswith("fac_")]
    return pd.get_dummies(frame, columns=factors, drop_first=True).astype(float)


def scores(frame: pd.DataFrame, seed: int) -> dict[str, float]:
    """Return the scores of one split."""
    frame = frame.sample(frac=1, random_state=seed)
    n = int(0.7 * len(frame))
    train, test = frame[:n], frame[n:]
    x, x_test = (part.drop(columns=["time", "event"]) for part in (train, test))
    began = time.process_time()
    model = CensoredQuantileRegressor(random_state=0)
    model.fit(x, (train["time"].to_numpy(), train["event"].to_numpy() == 1))
    seconds = time.process_time() - began
    times = np.unique(np.append(train["time"], 0.0))
    survival = model.predict_survival_function(x_test, times, True, beyond="extrapolate")
    median = model.predict(x_test)
    rows = (test["time"].to_numpy(), test["event"].to_numpy())
    known = (train["time"].to_numpy(), train["event"].to_numpy())
    whole = SurvivalEvaluator(survival, times, *rows, *known)
    point = PointEvaluator(median, *rows, *known)
    counts = np.asarray(whole.d_calibration()[1])
    expected = counts.sum() / len(counts)
    return {
        "CI": float(whole.concordance(ties="Risk")[0]),
        "MAE": float(point.mae(method="Pseudo_obs", weighted=True)),
        "IBS": float(whole.integrated_brier_score(num_points=10)),
        "Dcal(stats)": float(((counts - expected) ** 2 / expected).sum()),
        "latest": float(median.max() / known[0].max()),
        "seconds": seconds,
    }


def report(rows: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return a Markdown table of means, beside the published ones."""
    means = rows.groupby("dataset").mean()
    printed = published.pivot(index="dataset", columns="metric", values="mean").loc[means.index]
    lines = [
        f"{len(means)} sets, {rows.groupby('dataset').size().min()} splits each.",
        "",
        "| set | " + " | ".join(f"{m}, published" for m in METRICS) + " | latest median |",
        "|---" * (len(METRICS) + 2) + "|",
    ]
    for name, row in means.iterrows():
        cells = [f"{row[m]:.4g}, {printed.loc[name, m]:.4g}" for m in METRICS]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {row['latest']:.2f} |")
    lines.append("")
    for metric, sign in METRICS.items():
        better = (sign * (means[metric] - printed[metric]) > 0).sum()
        ratio = (means[metric] / printed[metric]).median()
        lines.append(f"- {metric}: better on {better} of {len(means)}; median ratio {ratio:.3f}")
    critical = chi2.ppf(0.95, 9)
    kept = (rows["Dcal(stats)"] < critical).mean()
    lines.append(f"- D-calibration not rejected at 0.05 in {kept:.0%} of the splits")
    return "\n".join(lines)


def main() -> None:
    """Score the splits that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("published", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10))
    parser.add_argument("--sets", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    published = pd.read_csv(options.published)
    names = options.sets or sorted(published["dataset"].unique())
    done = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame()
    known = set(zip(done["dataset"], done["seed"], strict=True)) if len(done) else set()
    for seed in range(*options.seeds):
        for name in names:
            if (name, seed) in known:
                continue
            row = {"dataset": name, "seed": seed, **scores(features_and_target(name), seed)}
            pd.DataFrame([row]).to_csv(
                options.out, mode="a", header=not options.out.exists(), index=False
            )
            print(name, seed, round(row["MAE"], 3), flush=True)
    rows = pd.read_csv(options.out)
    rows = rows[rows["dataset"].isin(names) & rows["seed"].isin(range(*options.seeds))]
    print(report(rows.drop(columns="seed").assign(dataset=rows["dataset"]), published))


if __name__ == "__main__":
    main()
