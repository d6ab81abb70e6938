"""Corrections of bounds: scores of calibration rows, and rules that make bounds of curves."""
