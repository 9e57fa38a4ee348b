"""Who may start, who waits and for how long: the queue in front of a lane, its estimates, and the leases."""
