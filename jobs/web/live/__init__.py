"""Server-sent events: one hub per process reads what was written once, and fans it out to every open page."""
