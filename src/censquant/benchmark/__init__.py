"""Tables and figures of the benchmark."""

__all__: list[str] = []
