"""What a judge's tokens cost."""

from pydantic import BaseModel, ConfigDict, Field

_MILLION = 1_000_000


class Prices(BaseModel):
    """A provider's prices, in US dollars per million tokens.

    Attributes:
        prompt_usd_per_million: for tokens read, pictures included.
        completion_usd_per_million: for tokens written, reasoning included.

    Example:
        >>> Prices(prompt_usd_per_million=2.5, completion_usd_per_million=10).cost_usd(1000, 200)
        0.0045
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_usd_per_million: float = Field(ge=0, allow_inf_nan=False)
    completion_usd_per_million: float = Field(ge=0, allow_inf_nan=False)

    def cost_usd(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """The price of one reply; None when the server did not say how many tokens it was."""
        if prompt_tokens is None or completion_tokens is None:
            return None
        read, written = prompt_tokens * self.prompt_usd_per_million, completion_tokens * self.completion_usd_per_million
        return (read + written) / _MILLION
