"""Votes and exports until it is killed; prints each answer after it was acknowledged. Run by ``test_arena_survives_kills``."""

import random
import sys
import threading
from pathlib import Path
from uuid import uuid4

from salon_arena import ArenaDatabase, export_answers, read_material, vote_service
from salon_arena.service import AnswerBody


def main(folder: Path, seed: int) -> None:
    generator = random.Random(seed)
    database = ArenaDatabase.open(folder / "arena.db")
    service = vote_service(database, read_material(folder / "pictures", folder / "prompts.jsonl"), seed=seed)

    def export_all_the_time() -> None:
        while True:
            export_answers(database, folder / "store")

    def vote() -> None:
        rater = service.people.join().result().rater_id
        while pairs := service.lease(rater).result()["tasks"]:
            choices = [generator.choice(["left", "right", "both_good", "both_bad"])]
            choices += ["undo", generator.choice(["left", "right"])] if generator.random() < 0.2 else []
            before = pairs[0]["supersedes"]
            for choice in choices:
                body = AnswerBody(
                    answer_id=uuid4(), assignment=pairs[0]["assignment"], choice=choice, elapsed_ms=1, supersedes=before
                )
                service.look(rater, body.assignment)
                service.answer(rater, body).result()
                before = body.answer_id
                sys.stdout.write(f"{body.answer_id} {body.assignment} {choice}\n")
                sys.stdout.flush()

    def vote_for_ever() -> None:
        while True:
            vote()

    workers = [threading.Thread(target=vote_for_ever) for _ in range(4)] + [threading.Thread(target=export_all_the_time)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
