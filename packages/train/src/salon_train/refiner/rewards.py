"""Build R_reason (stage I), R_rect (stage II) and the caching editor behind it."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, Final

from salon_rewards import ReasoningReward, RectificationReward
from salon_rewards.callables.r3 import Certainty
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import CallOutcome, Edit, Editor, Media
from salon_taxonomy.records import CallStatus
from salon_train.refiner.settings import RefinementSettings
from salon_train.refiner.verifiers import PolicyVerifier

_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class EditCounts:
    """Count the instructions by outcome.

    Attributes:
        made: a picture came back.
        refused: the editor said that it cannot be done.
        failed: the call was lost: no time, no connection, a defect. The groups of such completions abstain.
    """

    made: int = 0
    refused: int = 0
    failed: int = 0


class CachingEditor:
    """Cache what another editor returns, and count its outcomes.

    Pictures that were made, and refusals, are kept by picture, instruction and seed: members of a group often write the same
    instruction. Lost calls are not kept, so they are tried again when the same task comes again.

    Args:
        editor: makes the edits.

    Example:
        >>> import asyncio
        >>> from salon_synthetic import DrawEditor
        >>> from salon_synthetic import Item, Scene, png
        >>> picture = Media.from_bytes(png(Scene(items=[Item(shape="star", colour="blue", x=40, y=40)])))
        >>> editor = CachingEditor(DrawEditor())
        >>> edits = [asyncio.run(editor.edit(picture, said)) for said in ("Make the star red.", "Remove the circle.")]
        >>> editor.counts
        EditCounts(made=1, refused=1, failed=0)
    """

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.counts = EditCounts()
        self._known: OrderedDict[tuple[str, str, int | None], Edit] = OrderedDict()

    @property
    def name(self) -> str:
        """The editor's own."""
        return self.editor.name

    @property
    def version(self) -> str:
        """The editor's own."""
        return self.editor.version

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        """Return the picture after the instruction, or why it is missing.

        Raises:
            InputError: for a picture that the editor cannot take at all; rewards abstain then.
        """
        key = (image.sha256, instruction, seed)
        edit = self._known.get(key)
        if edit is None:
            edit = await self._asked(image, instruction, seed)
        counts = self.counts
        if edit.outcome is CallOutcome.ANSWERED:
            self.counts = replace(counts, made=counts.made + 1)
        elif edit.outcome is CallOutcome.REFUSED:
            self.counts = replace(counts, refused=counts.refused + 1)
        else:
            self.counts = replace(counts, failed=counts.failed + 1)
            return edit
        self._known[key] = edit
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return edit

    async def _asked(self, image: Media, instruction: str, seed: int | None) -> Edit:
        try:
            return await self.editor.edit(image, instruction, seed=seed)
        except InputError:
            self.counts = replace(self.counts, failed=self.counts.failed + 1)
            raise
        except Exception as error:  # noqa: BLE001 - an editor's defect costs a group its reward, not the run its end
            return Edit(None, CallStatus.UNREACHABLE, self.version, error=f"{type(error).__name__}: {error}")


def refining_rewards(
    model: Any,
    processor: Any,
    settings: RefinementSettings,
    *,
    editor: Editor | None,
    certainty: Certainty | None,
    seed: int,
    edit_timeout_s: float,
    concurrency: int,
    whole_groups: bool = True,
) -> list[Any]:
    """Return what the policy is paid by: R_reason, R_rect, or both.

    Args:
        model: the policy.
        processor: its own.
        settings: α₁, α₂ and how replies are sampled.
        editor: carries out instructions; needed for stage II.
        certainty: looks at edited pictures instead of the policy itself.
        seed: of edits.
        edit_timeout_s: for one edit, in seconds.
        concurrency: edits side by side.
        whole_groups: a process is given all replies to a prompt; False: its first and last group may be parts.

    Raises:
        InputError: for a second stage without an editor.
    """
    rewards: list[Any] = []
    if settings.stage_one > 0:
        rewards.append(ReasoningReward())
    if settings.stage_two > 0:
        if editor is None:
            raise InputError("stage II needs an editor", column="editor", value=None)
        own = PolicyVerifier(model, processor, most_thought=settings.most_thought, batch=settings.micro_batch)
        rewards.append(
            RectificationReward(
                CachingEditor(editor),
                certainty or own,
                image="picture",
                seed=seed,
                concurrency=concurrency,
                timeout_s=edit_timeout_s,
                truth="matches" if settings.wrong_verdict == "nothing" else None,
                refusal=settings.refusal,
                illusory=settings.illusory,
                group_size=settings.group if whole_groups else None,
            )
        )
    return rewards


def weights_of(settings: RefinementSettings) -> list[float]:
    """Return the weights of :func:`refining_rewards`, in their order."""
    return [weight for weight in (settings.stage_one, settings.stage_two) if weight > 0]
