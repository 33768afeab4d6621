"""The shapes of the kinds as data: types, limits, defaults, and how lists are merged."""
