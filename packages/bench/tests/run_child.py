"""One start of a run in a process of its own, for tests that kill it: STORE URL PROMPTS CONCURRENCY."""

import asyncio
import sys
from pathlib import Path

from number_suite import NumberSuite

from salon_bench.runs.checkpoint import fold_apart
from salon_bench.runs.plan import LoadedPlan, RunPlan, SubjectModel
from salon_bench.runs.session import SessionResult
from salon_bench.runs.suite_runner import Pace, execute
from salon_judges.clients import ChatSettings, OpenAICompatibleJudge
from salon_judges.clients.settings import ServerLimits as JudgeLimits
from salon_judges.formats.generations import Generations

RE_ASKS = 12


def plan_of(prompts: int) -> LoadedPlan:
    """The plan of the run that the tests kill."""
    suite = NumberSuite(prompts)
    plan = RunPlan("numbers", "1", (SubjectModel("subject", Path()),), "mock", {}, "v1", "v1", re_asks=RE_ASKS)
    return LoadedPlan(plan, suite, suite.prompts(None), Generations([]))


def judge_at(url: str, concurrency: int) -> OpenAICompatibleJudge:
    """A judge that is patient with everything but a server that does not answer."""
    limits = JudgeLimits(
        concurrency=concurrency, timeout_s=0.5, deadline_s=60, attempts=30, first_wait_s=0.01, longest_wait_s=0.05
    )
    return OpenAICompatibleJudge(ChatSettings(model="mock", base_url=url, limits=limits))


async def start(store: Path, url: str, prompts: int, concurrency: int) -> SessionResult:
    """Begin or go on, to the end."""
    pace = Pace(concurrency)
    judge = judge_at(url, concurrency)
    return await execute(plan_of(prompts), judge, store, pace=pace, fold=fold_apart)


if __name__ == "__main__":
    outcome = asyncio.run(start(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    sys.exit(0 if outcome.complete else 1)
