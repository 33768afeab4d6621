"""Plays a script to the list/watch loop, for the tests of that loop: which streams, and what came of it."""

import random
from typing import Any

from jobs.domain.kinds import KINDS
from jobs.ingest.listwatch import follow
from jobs.ingest.messages import (
    Message,
    State,
    Status,
)
from jobs.ingest.streams import StreamSpec, streams_for
from jobs.ingest.transport import Stop
from tests.ingest.virtual import (
    Script,
    ScriptedTransport,
    VirtualClock,
)

ALL = streams_for(KINDS)
PODS = next(stream for stream in ALL if stream.resource == "pods")
TFJOBS = next(stream for stream in ALL if stream.resource == "tfjobs.kubeflow.org")
EVENTS = next(stream for stream in ALL if stream.resource == "events")


class Run:
    """Plays a script to its end."""

    def __init__(self, *script: Script | Exception, stream: StreamSpec = PODS, **options: Any) -> None:
        self.clock = VirtualClock()
        self.transport = ScriptedTransport(self.clock, *script)
        parts = {"clock": self.clock, "rng": random.Random(7), "stop": Stop()} | options
        self.messages: list[Message] = list(follow(stream, self.transport, **parts))

    @property
    def asked(self) -> list[str]:
        return self.transport.asked

    @property
    def pauses(self) -> list[float]:
        return self.clock.pauses

    def said(self, *types: type) -> list[Any]:
        return [message for message in self.messages if isinstance(message, types)]

    @property
    def states(self) -> list[State]:
        return [status.state for status in self.said(Status)]


def shape(messages: list[Message]) -> list[str]:
    return [type(message).__name__ for message in messages]
