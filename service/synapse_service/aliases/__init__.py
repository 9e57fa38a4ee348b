"""Which fingerprints have been declared equivalent: the durable table, and what the service knows of it in memory."""
