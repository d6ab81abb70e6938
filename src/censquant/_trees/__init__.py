"""Bins, tree arrays and walks; growers of boosting, forests and follow-up."""
