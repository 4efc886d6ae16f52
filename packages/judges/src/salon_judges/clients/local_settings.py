"""Settings of judges that ask no server: a replay, a model on this machine."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from salon_judges.clients.settings import DecodingOverrides, VideoInput
from salon_taxonomy.plugins import JudgeSettings


class ReplaySettings(JudgeSettings):
    """Which replies are replayed.

    Attributes:
        kind: ``replay``.
        path: the folder of a cache, absolute.
        judge: whose replies, when the folder holds those of several judges.
        judge_version: of which version, when it holds several.
    """

    path: str = Field(min_length=1)
    judge: str | None = None
    judge_version: str | None = None


class LocalSettings(JudgeSettings):
    """A model on this machine.

    Attributes:
        model: a name on the Hugging Face hub, or a folder.
        revision: branch, tag or commit on the hub; a commit makes the version independent of what the hub does later.
        dtype: of the weights; ``auto``: as they were saved.
        batch: questions that are answered together.
        gather_ms: how long the first of them waits for company.
        decoding: in place of the question's own; ``omit`` means nothing here.
        videos: how a video is shown: as frames. The model's processor must take several pictures to a question.
    """

    model: str = Field(min_length=1)
    revision: str | None = None
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    batch: Annotated[int, Field(ge=1, le=1024)] = 8
    gather_ms: Annotated[float, Field(ge=0, le=10_000)] = 10.0
    decoding: DecodingOverrides = DecodingOverrides()
    videos: VideoInput = VideoInput()

    @field_validator("videos")
    @classmethod
    def _frames(cls, videos: VideoInput) -> VideoInput:
        if videos.send != "frames":
            raise ValueError("a model on this machine is shown frames, not the file of a video")
        return videos

    @property
    def title(self) -> str:
        """The name, else the model's; of a folder its last part."""
        return self.name or (Path(self.model).name if Path(self.model).is_dir() else self.model)


class TransformersSettings(LocalSettings):
    """A model in transformers.

    Attributes:
        kind: ``transformers``.
        device_map: as transformers takes it: ``auto``, ``cpu``, ``cuda:1``.
        threads: of torch, for the whole process; None leaves them as they are.
    """

    device_map: str = "auto"
    threads: Annotated[int, Field(ge=1)] | None = None


class VllmOfflineSettings(LocalSettings):
    """A model in vLLM, in this process.

    Attributes:
        kind: ``vllm-offline``.
        batch: questions that go to the engine at once; it schedules them itself.
        tensor_parallel: GPUs that share the model.
        gpu_memory: the share of each GPU's memory that vLLM takes, above 0 to 1.
        max_model_len: tokens of prompt and reply at most; None: as the model says.
        most_pictures: pictures of a question at most.
    """

    batch: Annotated[int, Field(ge=1, le=4096)] = 256
    tensor_parallel: Annotated[int, Field(ge=1)] = 1
    gpu_memory: Annotated[float, Field(gt=0, le=1)] = 0.9
    max_model_len: Annotated[int, Field(ge=1)] | None = None
    most_pictures: Annotated[int, Field(ge=1)] = 8
