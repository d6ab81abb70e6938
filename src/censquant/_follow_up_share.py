"""How much follow-up a statement about late times needs: the shares that all parts agree on."""

SMALLEST_FOLLOWED_SHARE = 0.05
"""Share of individuals that must still be followed at a time for the data to speak for it.

A loss is counted and a mean is restricted up to the last time at which at least one in twenty is
under observation; past it a single individual stands for more than twenty.
"""

LAST_FOLLOWED_SHARE = 0.03
"""Share of individuals like a given one that must still be followed for its quantile to count.

Lower than the share above because it is estimated from few similar individuals: it lies about
halfway between none, which must not count as followed, and one in twenty, which must.
"""

SMALLEST_CENSORING_CHANCE = 0.02
"""Smallest probability of being uncensored that an inverse-probability weight divides by.

No observed event stands for more than fifty individuals, at the price of a small bias.
"""
