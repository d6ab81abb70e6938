"""Tables that cannot be read as they are, with the option that would help."""

import shlex
from collections.abc import Sequence


class TableError(ValueError):
    """A table that cannot be read without being told more, and what to say.

    Parameters
    ----------
    problem : str
        What is wrong, without a full stop.
    options : sequence of (str, str), default ()
        Names and values of options, each of which would help.
    remedy : str, default ""
        What else would help, in words.
    about : str, default ""
        Name of the option that was given and is wrong.

    Examples
    --------
    >>> from censquant.io import TableError
    >>> error = TableError("status has the values 'alive' and 'dead'", [("event_value", "dead")])
    >>> str(error)
    "status has the values 'alive' and 'dead': pass event_value='dead'."
    >>> error.for_shell()
    "status has the values 'alive' and 'dead': add --event-value dead."
    """

    def __init__(
        self,
        problem: str,
        options: Sequence[tuple[str, str]] = (),
        remedy: str = "",
        *,
        about: str = "",
    ) -> None:
        self.problem, self.options = problem, tuple(options)
        self.remedy, self.about = remedy, about
        shown = [f"{name}={value!r}" for name, value in self.options]
        super().__init__(self._sentence("pass", shown, about))

    def for_shell(self) -> str:
        """Return the sentence with the options as the command takes them."""
        return self._sentence(
            "add",
            [f"{_typed(name)} {shlex.quote(value)}" for name, value in self.options],
            _typed(self.about),
        )

    def _sentence(self, verb: str, options: list[str], about: str) -> str:
        added = [f"{verb} {' or '.join(options)}"] if options else []
        remedies = ", or ".join([*added, *([self.remedy] if self.remedy else [])])
        said = f"{self.problem}: {remedies}" if remedies else self.problem
        return f"{about}: {said}{'' if said.endswith('?') else '.'}".removeprefix(": ")


def _typed(name: str) -> str:
    """Return an option as it is typed in a shell."""
    return f"--{name.replace('_', '-')}" if name else ""
