"""Methods and data sets side by side."""

__all__: list[str] = []
