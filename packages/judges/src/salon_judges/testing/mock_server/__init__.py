"""A server that speaks as OpenAI-compatible ones do, answers as a script says and fails on purpose.

For tests and demonstrations of judges: ``async with MockServer(script) as server`` (or ``with serving(script)`` in a thread),
then point a judge at ``server.url``; ``server.stats`` tells what was asked and paid. ``salon bench mock-server`` is the same
as a command.
"""

from salon_judges.testing.mock_server.faults import FaultRates, Latency, ServerFault
from salon_judges.testing.mock_server.rules import Asked, Rule, drawn, echo, fixed
from salon_judges.testing.mock_server.script import Script, ScriptLine, read_lines
from salon_judges.testing.mock_server.server import MockServer, ReceivedRequest, serving
from salon_judges.testing.mock_server.stats import Stats

__all__ = [
    "Asked",
    "FaultRates",
    "Latency",
    "MockServer",
    "ReceivedRequest",
    "Rule",
    "Script",
    "ScriptLine",
    "ServerFault",
    "Stats",
    "drawn",
    "echo",
    "fixed",
    "read_lines",
    "serving",
]
