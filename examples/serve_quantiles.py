"""A web service: `uvicorn serve_quantiles:app` starts it; this file alone shows one answer."""

import numpy as np
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from censquant import CoxQuantileRegressor
from censquant.datasets import load_gbsg2

LEVELS = [0.1, 0.5, 0.9]
model = CoxQuantileRegressor().fit(*load_gbsg2(as_frame=False))  # or censquant.load_model(path)
app = FastAPI()


class Request(BaseModel):
    rows: list[list[float]]


@app.post("/quantiles")
def quantiles(request: Request) -> dict[str, list]:
    try:
        times = model.predict_quantiles(np.array(request.rows), LEVELS, beyond="nan")
    except ValueError as error:  # one sentence that says what is wrong with the rows
        raise HTTPException(422, str(error)) from None
    # JSON has neither infinity nor NaN: what the data cannot speak for is null.
    return {"levels": LEVELS, "times": np.where(np.isnan(times), None, times).tolist()}


if __name__ == "__main__":
    first = load_gbsg2(as_frame=False)[0][:1].tolist()
    print(quantiles(Request(rows=first)))
