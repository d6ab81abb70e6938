"""Output that pages show, compared with what their code prints here, and rewritten on request.

Sums of floats differ between kinds of processors, and trainings with them. So words, verdicts and
whole numbers are compared exactly, other numbers within tolerances, and digits of p-values not at
all. The tolerances are at least twice what was measured when the pages were run with seven kinds of
BLAS and of compiled code (those of ``processors.py``, and Zen): 1.0 % in predicted quantiles, 2.4 %
in times that are left, and .015 in shares, apart from the rounding of the last digit.
"""

import math
import re

TIME_TOLERANCE = 0.05  # relative
SHARE_TOLERANCE = 0.03  # of numbers up to 1, and in percent of 100

NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?: ?%)?")
# What differs without a meaning, and what stands for it: digits of p-values, which candidates of
# an ensemble have a weight of a percent, and seconds and sizes of files.
OF_THE_MACHINE = (
    (re.compile(r"\bp [=<>] [\d.e-]*\d"), "p"),
    (re.compile(r"[a-z][a-z -]* \d+%(?:, [a-z][a-z -]* \d+%)*"), "weights"),
    (re.compile(r"\d+(?:\.\d+)? (?:s|min|[kM]B)\b"), "size"),
)


def _without_the_machine(text):
    for pattern, name in OF_THE_MACHINE:
        text = pattern.sub(name, text)
    return text


def words(text):
    """Return a text without its numbers and without space, which depends on their digits."""
    return "".join(NUMBER.sub("#", _without_the_machine(text)).split())


def _is_close(shown, printed):
    """Whether two numbers, as they are printed, differ by what a processor may change."""
    if shown == printed:
        return True
    percent = shown.endswith("%")
    if not percent and "." not in shown:
        return False
    numbers = [float(text.rstrip(" %")) for text in (shown, printed)]
    _, _, decimals = shown.rstrip(" %").partition(".")
    last_digit = 1.000001 * 10.0 ** -len(decimals)
    if percent or abs(numbers[0]) <= 1:
        tolerance = SHARE_TOLERANCE * (100 if percent else 1)
    else:
        tolerance = TIME_TOLERANCE * abs(numbers[0])
    return math.isclose(*numbers, rel_tol=0.0, abs_tol=max(tolerance, last_digit))


def is_as_shown(shown, printed):
    """Whether a page may show this text for what was printed."""
    if words(shown) != words(printed):
        return False
    both = [NUMBER.findall(_without_the_machine(text)) for text in (shown, printed)]
    return all(_is_close(*pair) for pair in zip(*both, strict=True))


def _without_trailing_space(text):
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def check_page(path, replaced, *, rewrite):
    """Fail unless a page shows what was printed, or write it into the page.

    ``replaced`` has, for every piece of output in the order of the page, where it begins and ends
    in the page's text, what is shown and what was printed. A page is rewritten as a whole, so that
    its numbers are of one run, and only if one of them is not as shown.
    """
    wrong = [(shown, printed) for *_, shown, printed in replaced if not is_as_shown(shown, printed)]
    if wrong and rewrite:
        text = path.read_text(encoding="utf-8")
        for start, end, _, printed in reversed(replaced):
            text = text[:start] + _without_trailing_space(printed) + text[end:]
        path.write_text(text, encoding="utf-8")
    elif wrong:
        differences = "\n".join(
            f"{path.name} shows\n{shown}\nbut its code prints\n{printed}"
            for shown, printed in wrong
        )
        raise AssertionError(f"{differences}\nCONTRIBUTING.md says how to rewrite the page.")
