"""What the page of one job shows: its header and each of its tabs, worked out from the job's state."""
