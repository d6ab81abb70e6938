"""How much follow-up a statement about late times needs: the shares that all parts agree on."""

SMALLEST_FOLLOWED_SHARE = 0.05
"""Share of individuals that must still be followed at a time for the data to speak for it.

A quantile is identified, a loss is counted and a mean is restricted up to the last time at which
at least one in twenty is under observation; past it a single individual stands for more than
twenty.
"""

SMALLEST_CENSORING_CHANCE = 0.02
"""Smallest probability of being uncensored that an inverse-probability weight divides by.

No observed event stands for more than fifty individuals, at the price of a small bias.
"""
