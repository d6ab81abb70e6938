"""The one road from a user's X and y to rows of numbers."""
