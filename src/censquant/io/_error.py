"""Tables that cannot be read as they are, with the option that would help."""

import re
import shlex
from collections.abc import Sequence

# Around the name of an option inside a text; neither is a character of any language.
_OPEN, _CLOSE = "\ue000", "\ue001"
_OPTION = re.compile(f"{_OPEN}(.*?){_CLOSE}")


def option(name: str) -> str:
    """Mark an option's name in a :class:`TableError`; the command shows it as --name."""
    return f"{_OPEN}{name}{_CLOSE}"


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
        super().__init__(_OPTION.sub(r"\1", self._sentence("pass", shown, about)))

    def for_shell(self) -> str:
        """Return the sentence with the options as the command takes them."""
        sentence = self._sentence(
            "add",
            [f"{_typed(name)} {_quoted(value)}" for name, value in self.options],
            _typed(self.about),
        )
        return _OPTION.sub(lambda found: _typed(found[1]), sentence)

    def _sentence(self, verb: str, options: list[str], about: str) -> str:
        added = [f"{verb} {' or '.join(options)}"] if options else []
        remedies = ", or ".join([*added, *([self.remedy] if self.remedy else [])])
        said = f"{self.problem}: {remedies}" if remedies else self.problem
        return f"{about}: {said}{'' if said.endswith('?') else '.'}".removeprefix(": ")


def _quoted(value: str) -> str:
    """Return a value as a shell takes it; a mark alone would be lost in the sentence."""
    if value == "'":
        return f'"{value}"'
    return f"'{value}'" if value in (".", ",") else shlex.quote(value)


def _typed(name: str) -> str:
    """Return an option as it is typed in a shell."""
    return f"--{name.replace('_', '-')}" if name else ""
