"""Objectives: what each method minimises."""
