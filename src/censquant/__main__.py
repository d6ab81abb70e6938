"""``python -m censquant`` is the command ``censquant``."""

from censquant.cli import main

main()
