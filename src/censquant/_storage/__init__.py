"""Model files: what a fitted estimator writes, and how it comes back."""
