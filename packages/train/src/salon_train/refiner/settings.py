"""The configuration of a refiner's training, section by section as in the TOML file. Frozen; unknown keys are refused.

[run]  [model]  [rows]  [editor]  [refine]  [evaluation]  [checkpoints]  [degeneration]  [monitors]  [log]  [store]

    salon train refiner refiner.toml
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from salon_rewards.callables.r3 import Illusory, Refusal
from salon_train.configuration.reading import read_as
from salon_train.configuration.schema import (
    NEAR,
    ConfigurationTable,
    Counted,
    GrpoSection,
    NonNegative,
    Positive,
    SftSection,
    Share,
    StageConfiguration,
    Text,
    Whole,
)


class RowsSection(ConfigurationTable):
    """Training rows.

    Attributes:
        file: rows in R³-Bench's form (JSON, JSON Lines, Parquet), as ``salon synthetic scenes generate`` draws them; relative
            to the configuration.
        pictures: the folder that the rows' pictures are in; None: the file's own.
        limit: so many rows, the first ones; None: all.
        held_out: rows for evaluation (``[evaluation]``), in the same form and outside training; None: no evaluation.
    """

    file: Annotated[Text, NEAR]
    held_out: Annotated[str | None, NEAR] = None
    pictures: Annotated[str | None, NEAR] = None
    limit: Whole | None = None


class EditorSection(ConfigurationTable):
    """The frozen editor that executes instructions.

    Attributes:
        name: ``draw``, ``KIND:MODEL@URL`` or a TOML file, as ``salon refine --editor`` takes it.
        timeout_s: for one edit, in seconds; a longer edit fails, and its group abstains.
        concurrency: edits side by side.
    """

    name: Text
    timeout_s: Positive = 300.0
    concurrency: Whole = 8


class RefinementSettings(ConfigurationTable):
    """How GRPO runs. The defaults are those of R³-Bench's Table 11 (R³-Refiner); what it does not print is ours.

    Ours: ``most_thought``, ``loss`` (GRPO's own; the table has "advantage estimator GRPO"), ``refusal``, ``wrong_verdict``, and
    that the table's batches of 128 count prompts, as the released trainer does.

    Attributes:
        steps: optimizer steps, in place of ``epochs``; None: as many as the epochs take.
        epochs: passes over the rows.
        learning_rate: the highest; it falls along a cosine.
        warmup_steps: steps in which the learning rate rises to it.
        group: replies to each prompt.
        prompts: different prompts in one step.
        micro_batch: replies in one forward and backward pass.
        longest_prompt: tokens of a question, picture included; a longer row is an error before training. None: no limit.
        most_tokens: of a reply.
        most_thought: tokens of the thought before the policy judges its own work.
        temperature: of the draws.
        top_p: of the draws.
        kl: weight of the divergence from the first policy; above 0 the policy is held in memory a second time.
        loss: as TRL calls it.
        clip_low, clip_high: how far the probability ratio may move, below and above 1.
        weight_decay, beta1, beta2: AdamW's.
        stage_one: α₁, of the verdict and the form; 0 leaves the reward out.
        stage_two: α₂, of the edited picture; 0 leaves the reward out, and no editor is needed.
        judged_by: the judge of the edited picture: the policy itself (``policy``, Equation 5), or ``questions`` that another
            judge answers (Table 4).
        judge: that other judge, as ``salon refine --judge`` takes it.
        refusal: what an instruction earns that the editor refuses: its group abstains (``abstain``); 0 (``zero``), for
            editors that refuse only what cannot be done, such as ``draw``; or P(true) of the picture as it is
            (``unchanged``), as with an editor that always returns a picture.
        illusory: what an instruction earns that rewrites the prompt: what its edit earns (``executed``, Equation 5), or 0
            (``zero``, ours).
        wrong_verdict: what a wrong verdict earns in stage II: 0 (``nothing``, the released code's rule), or P(true) of the
            picture that it leads to (``judged``, Equation 5 to the letter).
    """

    steps: Whole | None = None
    epochs: Positive = 5.0
    learning_rate: Positive = 1e-6
    warmup_steps: Counted = 0
    group: Annotated[int, Field(ge=2)] = 8
    prompts: Whole = 128
    micro_batch: Whole = 4
    longest_prompt: Whole | None = 2560
    most_tokens: Whole = 2048
    most_thought: Whole = 1024
    temperature: Positive = 1.0
    top_p: Share = 1.0
    kl: NonNegative = 1e-2
    loss: Literal["grpo", "dapo", "dr_grpo", "bnpo"] = "grpo"
    clip_low: Positive = 0.2
    clip_high: Positive = 0.28
    weight_decay: NonNegative = 1e-2
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    stage_one: NonNegative = 0.25
    stage_two: NonNegative = 0.75
    judged_by: Literal["policy", "questions"] = "policy"
    judge: str | None = None
    refusal: Refusal = "abstain"
    illusory: Illusory = "executed"
    wrong_verdict: Literal["nothing", "judged"] = "nothing"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.stage_one + self.stage_two:
            raise ValueError("one of the two stages must count")
        if self.prompts * self.group % self.micro_batch:
            raise ValueError(f"micro_batch {self.micro_batch} does not divide prompts times group, {self.prompts * self.group}")
        if self.judged_by == "questions" and self.judge is None:
            raise ValueError("questions need a judge")
        if {"steps", "epochs"} <= self.model_fields_set and self.steps is not None:
            raise ValueError("give either steps or epochs")
        return self

    def steps_for(self, rows: int) -> int:
        """Optimizer steps that are made with so many rows.

        Example:
            >>> RefinementSettings(epochs=5).steps_for(24_925), RefinementSettings(steps=7).steps_for(24_925)
            (974, 7)
        """
        return self.steps if self.steps is not None else max(1, -int(-(self.epochs * rows) // self.prompts))

    def grpo(self, rows: int) -> GrpoSection:
        """Return the same in the words of ``salon train grpo``."""
        return GrpoSection(
            steps=self.steps_for(rows),
            batch=self.prompts * self.group,
            device_batch=self.micro_batch,
            generations=self.group,
            learning_rate=self.learning_rate,
            schedule="cosine",
            warmup_steps=self.warmup_steps,
            weight_decay=self.weight_decay,
            beta1=self.beta1,
            beta2=self.beta2,
            longest_prompt=self.longest_prompt,
            longest=self.most_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            loss=self.loss,
            clip_low=self.clip_low,
            clip_high=self.clip_high,
            kl=self.kl,
        )


class RefinerConfiguration(StageConfiguration):
    """One run; the model is the policy: any vision-language model, whole or with adapters.

    Attributes:
        rows: the training rows.
        editor: executes the policy's instructions; needed unless ``refine.stage_two`` is 0.
        refine: the training's settings.
        sft: the SFT warm-up on a teacher's replies (:func:`~salon_train.refiner.stage.train_warm_up`); None: no warm-up.
    """

    preset: ClassVar[str] = "r3-refiner-7b"

    rows: RowsSection
    editor: EditorSection | None = None
    refine: RefinementSettings = RefinementSettings()
    sft: SftSection | None = None

    @model_validator(mode="after")
    def _edited(self) -> Self:
        if self.editor is None and self.refine.stage_two:
            raise ValueError("stage II needs a section [editor]")
        return self


def read_refiner_configuration(path: str | Path, *, changes: Mapping[str, object] | None = None) -> RefinerConfiguration:
    """Read a file; paths in it become absolute, from the file's own folder.

    Args:
        path: the TOML file.
        changes: settings in place of the file's, by dotted key: ``{"refine.steps": 10}``.

    Raises:
        InputError: for the first thing that is wrong, with its line.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "refiner.toml"
        >>> _ = file.write_text('[run]\\nfolder = "out"\\n[model]\\nname = "m"\\n[rows]\\nfile = "r.jsonl"\\nlimits = 3\\n')
        >>> read_refiner_configuration(file)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: ...refiner.toml, line 7, key 'rows.limits': unknown setting (allowed: file, ...)
    """
    return read_as(RefinerConfiguration, path, changes=changes)
