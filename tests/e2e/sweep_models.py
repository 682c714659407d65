"""The models of the sweep, by name: families of timm on small images, classes of transformers with small configurations."""

# Model, edge of its images.
TIMM = {
    "resnet": ("resnet18", 64), "vgg": ("vgg11_bn", 64), "densenet": ("densenet121", 64), "mobilenetv2": ("mobilenetv2_100", 64),
    "mobilenetv3": ("mobilenetv3_small_100", 64), "efficientnet": ("efficientnet_b0", 64), "convnext": ("convnext_atto", 64),
    "vit": ("vit_tiny_patch16_224", 224), "deit": ("deit_tiny_distilled_patch16_224", 224), "swin": ("swin_tiny_patch4_window7_224", 224),
    "mixer": ("mixer_s32_224", 224), "regnet": ("regnety_002", 64), "ghostnet": ("ghostnet_100", 64), "dla": ("dla46_c", 64),
    "hrnet": ("hrnet_w18_small", 64), "poolformer": ("poolformer_s12", 64), "mobilevit": ("mobilevit_xxs", 64),
    "xcit": ("xcit_nano_12_p16_224", 224), "levit": ("levit_128s", 224), "inception": ("inception_v3", 128),
}

TEXT = {"vocab_size": 200, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
DECODER = TEXT | {"num_key_value_heads": 2}

# Configuration class, what its settings are, and its input: text, images, both, or sound.
TRANSFORMERS = {
    "BertModel": ("BertConfig", TEXT, "text"),
    "RobertaModel": ("RobertaConfig", TEXT, "text"),
    "DistilBertModel": ("DistilBertConfig", {"vocab_size": 200, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}, "text"),
    "AlbertModel": ("AlbertConfig", TEXT | {"embedding_size": 16}, "text"),
    "ElectraModel": ("ElectraConfig", TEXT | {"embedding_size": 16}, "text"),
    "DebertaV2Model": ("DebertaV2Config", TEXT | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, "text"),
    "MPNetModel": ("MPNetConfig", TEXT, "text"),
    "GPT2LMHeadModel": ("GPT2Config", {"vocab_size": 200, "n_embd": 32, "n_layer": 2, "n_head": 4}, "text"),
    "GPTNeoXForCausalLM": ("GPTNeoXConfig", TEXT, "text"),
    "OPTForCausalLM": ("OPTConfig", {"vocab_size": 200, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 64,
                                     "word_embed_proj_dim": 32}, "text"),
    "LlamaForCausalLM": ("LlamaConfig", DECODER, "text"),
    "MistralForCausalLM": ("MistralConfig", DECODER, "text"),
    "Qwen2ForCausalLM": ("Qwen2Config", DECODER, "text"),
    "GemmaForCausalLM": ("GemmaConfig", DECODER | {"head_dim": 8}, "text"),
    "PhiForCausalLM": ("PhiConfig", TEXT, "text"),
    "T5Model": ("T5Config", {"vocab_size": 200, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}, "two texts"),
    "BartModel": ("BartConfig", {"vocab_size": 200, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                                 "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}, "two texts"),
    "ViTModel": ("ViTConfig", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32,
                               "patch_size": 8}, "image"),
    "CLIPModel": ("CLIPConfig", {"text_config": TEXT | {"eos_token_id": 2}, "projection_dim": 16,
                                 "vision_config": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                                                   "intermediate_size": 64, "image_size": 32, "patch_size": 8}}, "text and image"),
    "Wav2Vec2Model": ("Wav2Vec2Config", TEXT | {"conv_dim": [16, 16], "conv_stride": [4, 2], "conv_kernel": [8, 4],
                                                "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}, "sound"),
}

NAMES = [f"timm/{name}" for name in TIMM] + [f"transformers/{name}" for name in TRANSFORMERS]


def inputs_of(kind, torch):
    ids = torch.randint(3, 200, (2, 16))
    image = torch.randn(2, 3, 32, 32)
    return {"text": {"input_ids": ids}, "two texts": {"input_ids": ids, "decoder_input_ids": ids.flip(0)[:, :8]},
            "image": {"pixel_values": image}, "text and image": {"input_ids": ids, "pixel_values": image},
            "sound": {"input_values": torch.randn(2, 1600)}}[kind]


def without_zeros(model, torch):
    """The model with numbers for weights that begin as zeros: they would hide whole branches, or all there is."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and not parameter.any():
                parameter.normal_(std=0.05)
    return model


def build(name):
    """(model, args, kwargs) with random weights."""
    import torch
    torch.manual_seed(0)
    library, _, name = name.partition("/")
    if name not in (TIMM if library == "timm" else TRANSFORMERS):
        from wide import lists
        return lists.build(library, name, torch)
    if library == "timm":
        import timm
        model, edge = TIMM[name]
        return without_zeros(timm.create_model(model, pretrained=False).eval(), torch), (torch.randn(2, 3, edge, edge),), {}
    import transformers
    config, settings, kind = TRANSFORMERS[name]
    model = getattr(transformers, name)(getattr(transformers, config)(**settings)).eval()
    return model, (), inputs_of(kind, torch)
