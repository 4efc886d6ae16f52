"""A pipeline of diffusers as a policy: Stable Diffusion 3 and 3.5, through low-rank adapters on its transformer.

The pipeline's transformer predicts noise minus latents from noisy latents, and its scheduler's sigma is the time, 1 for noise.
So a step of the ODE is the scheduler's Euler step, and a run without chance draws what the pipeline draws.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from salon_judges.editors.diffusers_pipeline import load_pipeline
from salon_taxonomy.errors import InputError
from salon_train.configuration.image import PolicySection
from salon_train.image_policy.policy import Condition, FlowPolicy
from salon_train.models.hub import HINT, hub_problem
from salon_train.seeds import torch_seed

_TARGETS: Final = tuple(
    f"attn.{name}" for name in ("to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out")
)
"""Where Flow-GRPO's released code puts its adapters in Stable Diffusion 3.5."""
_DEVICE: Final = re.compile(r"cpu|cuda(?::(\d+))?")
_PIPELINE: Final = "StableDiffusion3Pipeline"
_SCHEDULER: Final = "FlowMatchEulerDiscreteScheduler"


def load_policy(section: PolicySection, *, seed: int) -> "DiffusersPolicy":
    """Load a pipeline and put adapters on its transformer.

    Args:
        section: which pipeline, where and how.
        seed: of the adapters' first weights.

    Raises:
        InputError: torch has no such device, diffusers is not installed, the pipeline cannot be loaded or is no flow-matching
            pipeline that can be trained here, or the size does not fit it.
    """
    device = checked_device(section.device)
    dtype = section.dtype or ("float32" if device.type == "cpu" else "bfloat16")
    hub = hub_problem(section.model)
    options = {"revision": section.revision, "local_files_only": hub is not None}
    try:
        pipeline = load_pipeline(section.model, device=str(device), dtype=dtype, **options)
    except InputError as error:
        hint = error.hint or (f"{hub}. {HINT}" if hub else _hint(section.model))
        raise InputError(error.problem, source="--model", value=section.model, hint=hint) from error
    return DiffusersPolicy(pipeline, section, device=device, seed=seed)


def _hint(model: str) -> str:
    if Path(model).is_dir():
        return "The folder is what pipeline.save_pretrained(FOLDER) writes, with model_index.json."
    return "Name a folder or a model of the hub. For a gated one, accept its licence there and log in: hf auth login."


def checked_device(name: str) -> torch.device:
    """Return a device of torch.

    Raises:
        InputError: the name is another one, or torch does not find the device here.

    Example:
        >>> checked_device("cpu"), checked_device("tpu")
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: --device: unknown device 'tpu' (allowed: cpu, cuda, cuda:0)
    """
    match = _DEVICE.fullmatch(name)
    if match is None:
        raise InputError("unknown device", source="--device", value=name, allowed=("cpu", "cuda", "cuda:0"))
    if name != "cpu" and not torch.cuda.is_available():
        hint = (
            "Type --device cpu for a small model. Otherwise look at `nvidia-smi` and at "
            '`python -c "import torch; print(torch.version.cuda)"`: None is a torch without CUDA.'
        )
        raise InputError("torch finds no CUDA device on this machine for", source="--device", value=name, hint=hint)
    if match[1] is not None and int(match[1]) >= torch.cuda.device_count():
        devices = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        raise InputError("torch does not find", source="--device", value=name, allowed=devices)
    return torch.device(name)


class DiffusersPolicy(FlowPolicy):
    """Stable Diffusion 3 or 3.5, of which low-rank adapters learn. The model without them is the reference.

    The velocity is that of classifier-free guidance, in sampling and in the loss alike: the density of a step is that of the
    policy that drew it, and the gradient runs through both of its predictions.

    Args:
        pipeline: loaded, on ``device``.
        section: size, guidance and adapters.
        device: of the pipeline.
        seed: of the adapters' first weights.

    Raises:
        InputError: the pipeline or its scheduler is of another class, or the size does not fit it.
    """

    def __init__(self, pipeline: Any, section: PolicySection, *, device: torch.device, seed: int) -> None:
        _check_kind(pipeline, section.model)
        self.device = device
        self.pipeline = pipeline
        self._guidance = section.guidance
        self._negative = section.negative_prompt
        transformer = pipeline.transformer
        self._dtype = transformer.dtype
        self.shape = _shape(pipeline, section)
        for part in (transformer, pipeline.vae, pipeline.text_encoder, pipeline.text_encoder_2, pipeline.text_encoder_3):
            if part is not None:
                part.requires_grad_(False).eval()
        pipeline.vae.float()
        _add_adapters(transformer, section, seed)
        if section.activation_checkpointing:
            transformer.enable_gradient_checkpointing()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of a picture, in pixels."""
        scale: int = self.pipeline.vae_scale_factor
        return self.shape[2] * scale, self.shape[1] * scale

    def parameters(self) -> list[nn.Parameter]:
        """Return the adapters' weights, float32."""
        return [each for each in self.pipeline.transformer.parameters() if each.requires_grad]

    def times(self, steps: int) -> list[float]:
        """Return the scheduler's sigmas, with the shift that it gives them for this size."""
        scheduler, transformer = self.pipeline.scheduler, self.pipeline.transformer
        options = {}
        if scheduler.config.get("use_dynamic_shifting"):
            from diffusers.pipelines.stable_diffusion_3.pipeline_stable_diffusion_3 import calculate_shift

            places = (self.shape[1] // transformer.config.patch_size) * (self.shape[2] // transformer.config.patch_size)
            names = ("base_image_seq_len", "max_image_seq_len", "base_shift", "max_shift")
            options["mu"] = calculate_shift(places, *(scheduler.config[name] for name in names))
        scheduler.set_timesteps(steps, device="cpu", **options)
        times: list[float] = scheduler.sigmas.tolist()
        return times

    def encode(self, prompts: Sequence[str], *, guided: bool = True) -> Condition:
        """Return the text encoders' output for each prompt, with that of the negative prompt where there is guidance."""
        guided = guided and self._guidance > 1
        texts, negative, pooled, negative_pooled = self.pipeline.encode_prompt(
            prompt=list(prompts),
            prompt_2=None,
            prompt_3=None,
            negative_prompt=[self._negative] * len(prompts) if guided else None,
            do_classifier_free_guidance=guided,
            device=self.device,
        )
        return (negative, texts, negative_pooled, pooled) if guided else (texts, pooled)

    def velocity(self, x: Tensor, time: float | Tensor, condition: Condition, *, reference: bool = False) -> Tensor:
        """Predict noise minus latents; see :meth:`FlowPolicy.velocity`."""
        guided = len(condition) == 4
        texts, pooled = (torch.cat(condition[:2]), torch.cat(condition[2:])) if guided else condition
        latents = torch.cat([x, x]) if guided else x
        ticks = torch.as_tensor(time, device=x.device).expand(len(x)) * self.pipeline.scheduler.config.num_train_timesteps
        with self._adapters(off=reference):
            predicted: Tensor = self.pipeline.transformer(
                hidden_states=latents.to(self._dtype),
                timestep=torch.cat([ticks, ticks]) if guided else ticks,
                encoder_hidden_states=texts,
                pooled_projections=pooled,
                return_dict=False,
            )[0].float()
        if not guided:
            return predicted
        without, with_prompt = predicted.chunk(2)
        return without + self._guidance * (with_prompt - without)

    def pictures(self, x: Tensor) -> Tensor:
        """Decode latents to pictures with values from 0 to 1, in float32."""
        vae = self.pipeline.vae
        decoded = vae.decode(x / vae.config.scaling_factor + vae.config.shift_factor, return_dict=False)[0]
        pictures: Tensor = self.pipeline.image_processor.postprocess(decoded, output_type="pt")
        return pictures.float().cpu()

    def encode_pictures(self, pictures: Tensor) -> Tensor:
        """Return the means of the encoder's latents of pictures, in float32."""
        vae = self.pipeline.vae
        with torch.no_grad():
            means = vae.encode(pictures.to(self.device) * 2 - 1).latent_dist.mode()
        latents: Tensor = ((means - vae.config.shift_factor) * vae.config.scaling_factor).cpu()
        return latents

    def state(self) -> dict[str, Tensor]:
        """Return the adapters' weights, by peft's names."""
        from peft import get_peft_model_state_dict

        state: dict[str, Tensor] = get_peft_model_state_dict(self.pipeline.transformer)
        return {name: weight.detach().cpu() for name, weight in state.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue with saved adapters."""
        from peft import set_peft_model_state_dict

        set_peft_model_state_dict(self.pipeline.transformer, dict(state))

    def save(self, folder: Path) -> None:
        """Write ``pytorch_lora_weights.safetensors``, which ``pipeline.load_lora_weights(folder)`` reads.

        The scale ``alpha / rank`` is multiplied into the weights: diffusers takes it to be 1 where the file does not say, and a
        file that says has its metadata in another order every time.
        """
        settings = self.pipeline.transformer.peft_config["default"]
        scale = settings.lora_alpha / settings.r
        layers = {name: weight * scale if "lora_B" in name else weight for name, weight in self.state().items()}
        self.pipeline.save_lora_weights(folder, transformer_lora_layers=layers)

    @contextmanager
    def _adapters(self, *, off: bool) -> Iterator[None]:
        """Predict without the adapters, if ``off``."""
        if off:
            self.pipeline.transformer.disable_adapters()
        try:
            yield
        finally:
            if off:
                self.pipeline.transformer.enable_adapters()


def _check_kind(pipeline: Any, model: str) -> None:
    kind = type(pipeline).__name__
    if kind != _PIPELINE:
        hint = "Name a model of Stable Diffusion 3 or 3.5, such as stabilityai/stable-diffusion-3.5-medium."
        raise InputError(
            f"is a {kind}, which cannot be trained here:", source="--model", value=model, allowed=[_PIPELINE], hint=hint
        )
    scheduler = pipeline.scheduler
    kind = type(scheduler).__name__
    if kind != _SCHEDULER or scheduler.config.get("stochastic_sampling") or scheduler.config.get("invert_sigmas"):
        problem = f"its scheduler, {kind}, does not follow the ODE of a rectified flow:"
        raise InputError(problem, source="--model", value=model, allowed=[_SCHEDULER])


def _shape(pipeline: Any, section: PolicySection) -> tuple[int, int, int]:
    """Return the shape of one picture's latents."""
    scale, patch = pipeline.vae_scale_factor, pipeline.transformer.config.patch_size
    edges = []
    for name in ("height", "width"):
        edge = getattr(section, name) or pipeline.default_sample_size * scale
        if edge % (scale * patch):
            problem = f"must be a multiple of {scale * patch} pixels for this model, not"
            raise InputError(problem, source=f"--{name}", value=edge)
        edges.append(edge // scale)
    return pipeline.transformer.config.in_channels, edges[0], edges[1]


def _add_adapters(transformer: Any, section: PolicySection, seed: int) -> None:
    from peft import LoraConfig

    alpha = section.alpha or 2 * section.rank
    settings = LoraConfig(r=section.rank, lora_alpha=alpha, init_lora_weights="gaussian", target_modules=list(_TARGETS))
    with torch.random.fork_rng():
        torch.manual_seed(torch_seed(seed))
        transformer.add_adapter(settings)
    for parameter in transformer.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()  # steps of 1e-4 are lost in bfloat16's seven bits
