"""Which error of predicted shares of events is called small, wherever calibration is judged."""

SMALL_GAP = 0.03
"""Largest gap between a predicted and an observed share of events that does not matter.

With very many rows every test of calibration rejects every model, so that the size decides.
"""
