"""Simplified Chinese. Django's own has no separator; browsers write 12,345, as most Chinese software does."""

THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
