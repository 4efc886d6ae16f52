"""Settings of a training run: one TOML file, checked before anything heavy starts.

Configuration         the whole of it; one section per idea
read_configuration    from a file or a text
preset_names, preset  the published recipes, ready to be changed
launch_names, launch  files for ``accelerate launch``: several processes, FSDP, DeepSpeed
"""

from salon_train.configuration.reading import read_configuration
from salon_train.configuration.recipes import launch, launch_names, preset, preset_names
from salon_train.configuration.schema import Configuration

__all__ = ["Configuration", "launch", "launch_names", "preset", "preset_names", "read_configuration"]
