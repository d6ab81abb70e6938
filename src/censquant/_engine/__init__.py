"""What trains: losses, objectives, networks and the loop."""
