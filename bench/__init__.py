"""Measurements, as ratios in one run. ``python -m bench`` lists them; none asserts a wall time."""
