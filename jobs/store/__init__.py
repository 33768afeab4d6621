"""Keep what was observed: append in one transaction, load it again, leases, and the pages' queries."""
