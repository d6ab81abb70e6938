"""Ensembles: base models weighted by held-out scores and averaged into one distribution."""
