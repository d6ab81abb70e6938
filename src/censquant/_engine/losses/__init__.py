"""Losses as compiled kernels: each returns its value and writes its gradient by the predictions."""
