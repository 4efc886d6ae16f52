"""A CLIP model with random weights, tokenizer and processor, made on the spot: 20,000 parameters, no network."""

import json
from pathlib import Path


def save_tiny_clip(folder: Path, *, seed: int = 0) -> Path:
    """Write the model to a folder; the same seed gives the same weights."""
    import torch
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

    letters = [chr(code) for code in range(33, 127)]
    vocabulary = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    folder.mkdir(parents=True)
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    text = {"vocab_size": len(vocabulary), "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    text |= {"num_attention_heads": 2, "max_position_embeddings": 20, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    vision = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision |= {"image_size": 16, "patch_size": 8}
    torch.manual_seed(seed)
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=8))
    pictures = CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    model.save_pretrained(folder)
    CLIPProcessor(image_processor=pictures, tokenizer=tokenizer).save_pretrained(folder)
    return folder
