"""What the pages read: queries named for the page that asks. Nothing here writes.

No query of a list touches ``record``; each is bounded by a limit or by the rows of one page.
"""
