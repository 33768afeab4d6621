"""What publisher and listener share."""

CHANNEL = "restartscope:sequence"
CONNECT_SECONDS = 1.0  # a local broker answers in milliseconds; a watcher must not wait for one that is down
