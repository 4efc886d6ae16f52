"""A worker of the embedded engine: ``python -m salon_curate.worker PARENT``; reads tasks, writes outcomes, a line each.

It ends with its parent, however that ends: the kernel kills it on Linux, elsewhere it stops at the end of its input.
"""

import ctypes
import json
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Work until the input ends."""
    parent = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        return
    from salon_curate.engine import answer_to  # takes most of the start, in which the parent may end as well
    from salon_curate.tasks import ShardTask

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it ends its workers
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a stage prints goes to standard error
    for line in sys.stdin:
        answers.write(json.dumps(answer_to(ShardTask(**json.loads(line)))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
