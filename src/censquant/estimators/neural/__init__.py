"""Estimators that train networks, one file per method."""
