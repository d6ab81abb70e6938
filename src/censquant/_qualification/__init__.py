"""What ``censquant validate`` runs: checks of an installation against what is known."""
