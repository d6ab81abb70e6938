"""The engine: one loop that trains any network on any objective."""
