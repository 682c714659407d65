"""Models of transformers by class, made small: every setting of SMALL that a configuration has is taken from there."""

import inspect

from sweep_models import without_zeros

SMALL = dict.fromkeys("hidden_size d_model dim n_embd embed_dim word_embed_proj_dim emb_dim".split(), 32)
SMALL |= dict.fromkeys("num_hidden_layers n_layers n_layer num_layers encoder_layers decoder_layers".split(), 2)
SMALL |= dict.fromkeys("num_decoder_layers num_key_value_heads num_experts_per_tok".split(), 2)
SMALL |= dict.fromkeys("num_attention_heads n_heads n_head num_heads encoder_attention_heads".split(), 4)
SMALL |= dict.fromkeys("decoder_attention_heads num_local_experts num_experts rotary_dim attention_window".split(), 4)
SMALL |= dict.fromkeys("intermediate_size ffn_dim hidden_dim n_inner encoder_ffn_dim decoder_ffn_dim d_ff".split(), 64)
SMALL |= dict.fromkeys("d_inner mlp_dim dim_feedforward".split(), 64)
SMALL |= dict.fromkeys("d_kv patch_size head_dim expert_capacity state_size d_head".split(), 8)
SMALL |= dict.fromkeys("embedding_size projection_dim".split(), 16)
SMALL |= dict.fromkeys("image_size moe_intermediate_size shared_expert_intermediate_size".split(), 32)
SMALL |= dict.fromkeys("n_positions max_position_embeddings n_ctx".split(), 128)
SMALL |= {"vocab_size": 200, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
SMALL |= {"num_sparse_encoder_layers": 1, "dropout": 0.0}
SEEN = {
    key: SMALL[key]
    for key in "hidden_size num_hidden_layers num_attention_heads intermediate_size image_size patch_size".split()
}
READ = {
    key: SMALL[key]
    for key in "vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size eos_token_id".split()
}
WAVES = {
    "conv_dim": [16, 16],
    "conv_stride": [4, 2],
    "conv_kernel": [8, 4],
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
STAGES = {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1]}

# By the kind of their input, those that need no settings besides.
AS_SMALL = {
    "text": """CamembertModel ErnieModel MegatronBertModel RoFormerModel NystromformerModel XLMRobertaModel
        Data2VecTextModel ConvBertModel MraModel LayoutLMModel BigBirdModel ModernBertModel XLNetModel
        IBertModel SplinterModel GPTJForCausalLM BloomForCausalLM FalconForCausalLM MptForCausalLM
        CodeGenForCausalLM GPTBigCodeForCausalLM Gemma2ForCausalLM Phi3ForCausalLM StableLmForCausalLM
        OlmoForCausalLM Olmo2ForCausalLM CohereForCausalLM Starcoder2ForCausalLM Qwen3ForCausalLM
        GraniteForCausalLM PersimmonForCausalLM BioGptForCausalLM Glm4ForCausalLM SmolLM3ForCausalLM
        NemotronForCausalLM DiffLlamaForCausalLM OpenAIGPTLMHeadModel MixtralForCausalLM Qwen2MoeForCausalLM
        Qwen3MoeForCausalLM OlmoeForCausalLM GraniteMoeForCausalLM PhimoeForCausalLM GptOssForCausalLM
        ImageGPTModel VisualBertModel FlavaTextModel
        ArceeForCausalLM ApertusForCausalLM Cohere2ForCausalLM DogeForCausalLM Ernie4_5ForCausalLM
        Exaone4ForCausalLM GlmForCausalLM HeliumForCausalLM HunYuanDenseV1ForCausalLM MinistralForCausalLM
        ModernBertDecoderForCausalLM Olmo3ForCausalLM SeedOssForCausalLM BitNetForCausalLM FlexOlmoForCausalLM
        GraniteMoeSharedForCausalLM MiniMaxForCausalLM EuroBertModel RoCBertModel LukeModel 
        XLMRobertaXLModel RobertaPreLayerNormModel DPRQuestionEncoder MarkupLMModel
        BertForMaskedLM BertForQuestionAnswering BertForTokenClassification RobertaForSequenceClassification
        DistilBertForSequenceClassification ElectraForPreTraining AlbertForMaskedLM T5EncoderModel
        UMT5EncoderModel GPT2ForSequenceClassification LlamaForSequenceClassification OPTForSequenceClassification
        Qwen2ForTokenClassification GPTNeoXForQuestionAnswering FalconForSequenceClassification TapasModel""",
    "two texts": """SwitchTransformersModel MBartModel MarianModel PegasusModel BlenderbotModel BlenderbotSmallModel
        PLBartModel M2M100Model MvpModel MT5Model UMT5Model T5ForConditionalGeneration BartForConditionalGeneration PegasusXModel FSMTModel""",
    "image": """DeiTModel Dinov2Model ViTMSNModel BeitModel Data2VecVisionModel IJepaModel ViTForImageClassification Dinov2WithRegistersModel DINOv3ViTModel BeitForImageClassification
        DeiTForImageClassification""",
    "image64": "MobileNetV2Model SuperPointForKeypointDetection MobileNetV1Model SwiftFormerModel",
    "video": "TimesformerModel",
    "text and image": "ViltModel CLIPModel",
    "generate": "GPT2LMHeadModel LlamaForCausalLM OPTForCausalLM Gemma2ForCausalLM GPTNeoXForCausalLM T5ForConditionalGeneration BartForConditionalGeneration",
}

# Class: kind of its input, settings besides the small ones.
WITH_SETTINGS = {
    "RemBertModel": ("text", {"input_embedding_size": 16, "output_embedding_size": 16}),
    "MobileBertModel": ("text", {"true_hidden_size": 32, "intra_bottleneck_size": 32}),
    "BertGenerationEncoder": ("text", {}),
    "YosoModel": ("text", {"use_expectation": True}),
    "SqueezeBertModel": ("text", {"embedding_size": 32}),
    "LongformerModel": ("text", {"attention_window": [4, 4]}),
    "FNetModel": ("text", {"use_tpu_fourier_optimizations": False}),
    "FunnelModel": ("text", {"block_sizes": [1, 1], "num_decoder_layers": 1}),
    "XLMModel": ("text", {"n_words": 200}),
    "FlaubertModel": ("text", {"n_words": 200}),
    "CanineModel": ("text", {"local_transformer_stride": 4, "num_hash_buckets": 64}),
    "EsmModel": ("text", {"mask_token_id": 3}),
    "DebertaModel": ("text", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "ReformerModel": (
        "text",
        {
            "attention_head_size": 8,
            "axial_pos_shape": [4, 4],
            "axial_pos_embds_dim": [16, 16],
            "is_decoder": False,
            "local_attn_chunk_length": 8,
            "lsh_attn_chunk_length": 8,
            "feed_forward_size": 64,
            "num_buckets": 4,
        },
    ),
    "GPTNeoForCausalLM": ("text", {"attention_types": [[["global", "local"], 1]]}),
    "CTRLLMHeadModel": ("text", {"dff": 64}),
    "Gemma3ForCausalLM": ("text", {}),
    "XGLMForCausalLM": ("text", {"attention_heads": 4}),
    "DeepseekV3ForCausalLM": (
        "text",
        {
            "n_routed_experts": 4,
            "num_key_value_heads": 4,
            "q_lora_rank": 16,
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8,
            "v_head_dim": 8,
            "n_group": 2,
            "topk_group": 1,
            "first_k_dense_replace": 1,
        },
    ),
    "JetMoeForCausalLM": ("text", {"kv_channels": 8}),
    "MambaForCausalLM": ("text", {"time_step_rank": 4}),
    "Mamba2ForCausalLM": ("text", {"num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 8}),
    "FalconMambaForCausalLM": ("text", {"time_step_rank": 4}),
    "RwkvForCausalLM": ("text", {"attention_hidden_size": 32}),
    "JambaForCausalLM": (
        "text",
        {
            "use_mamba_kernels": False,
            "mamba_dt_rank": 4,
            "mamba_d_state": 8,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
        },
    ),
    "BambaForCausalLM": (
        "text",
        {
            "mamba_n_heads": 8,
            "mamba_d_head": 8,
            "mamba_n_groups": 1,
            "mamba_d_state": 8,
            "mamba_chunk_size": 8,
            "attn_layer_indices": [1],
        },
    ),
    "RecurrentGemmaForCausalLM": (
        "text",
        {"lru_width": 32, "attention_window_size": 8, "block_types": ["recurrent", "attention"]},
    ),
    "Lfm2ForCausalLM": ("text", {"layer_types": ["conv", "full_attention"]}),
    "Qwen3NextForCausalLM": (
        "text",
        {
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "layer_types": ["linear_attention", "full_attention"],
        },
    ),
    "LongT5Model": ("two texts", {"local_radius": 4}),
    "LEDModel": ("two texts", {"attention_window": [4, 4]}),
    "ProphetNetModel": (
        "two texts",
        {"num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "num_encoder_layers": 2, "ngram": 2},
    ),
    "BigBirdPegasusModel": ("two texts", {"attention_type": "original_full"}),
    "NllbMoeModel": ("two texts", {"encoder_sparse_step": 2, "decoder_sparse_step": 2}),
    "HieraModel": (
        "image224",
        {
            "image_size": [224, 224],
            "patch_size": [7, 7],
            "embed_dim": 16,
            "depths": [1, 1, 1, 1],
            "num_heads": [1, 2, 4, 8],
        },
    ),
    "SwinModel": (
        "image64",
        {"image_size": 64, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4},
    ),
    "Swinv2Model": (
        "image64",
        {"image_size": 64, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4},
    ),
    "ConvNextModel": ("image64", STAGES),
    "ConvNextV2Model": ("image64", STAGES),
    "ResNetModel": ("image64", STAGES | {"embedding_size": 16, "layer_type": "basic"}),
    "RegNetModel": ("image64", STAGES | {"embedding_size": 16, "groups_width": 8}),
    "SegformerForSemanticSegmentation": (
        "image64",
        STAGES | {"num_attention_heads": [1, 2, 2, 2], "decoder_hidden_size": 32},
    ),
    "PvtV2Model": (
        "image64",
        STAGES | {"num_attention_heads": [1, 2, 2, 2], "image_size": {"height": 64, "width": 64}},
    ),
    "GLPNForDepthEstimation": ("image64", STAGES | {"num_attention_heads": [1, 2, 2, 2], "decoder_hidden_size": 16}),
    "PoolFormerModel": ("image64", STAGES),
    "EfficientNetModel": ("image64", {"image_size": 64, "hidden_dim": 2560}),
    "FocalNetModel": (
        "image64",
        {
            "image_size": 64,
            "embed_dim": 16,
            "depths": [1, 1],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
            "patch_size": 4,
            "hidden_sizes": [16, 32],
        },
    ),
    "ViTMAEModel": ("image", {"mask_ratio": 0.5}),
    "DPTForDepthEstimation": (
        "image64",
        {
            "image_size": 64,
            "num_hidden_layers": 4,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [8, 8, 16, 16],
            "fusion_hidden_size": 16,
        },
    ),
    "YolosModel": ("image", {"image_size": [32, 32], "num_detection_tokens": 4}),
    "DetrModel": ("image64", {"num_queries": 5}),
    "VideoMAEModel": ("video", {"num_frames": 4, "tubelet_size": 2}),
    "VivitModel": ("video", {"num_frames": 4, "tubelet_size": [2, 8, 8]}),
    "MobileViTModel": (
        "image64",
        {
            "image_size": 64,
            "hidden_sizes": [16, 16, 16],
            "neck_hidden_sizes": [8, 8, 16, 16, 16, 16, 32],
            "patch_size": 2,
        },
    ),
    "HubertModel": ("sound", WAVES),
    "WavLMModel": ("sound", WAVES),
    "UniSpeechModel": ("sound", WAVES),
    "UniSpeechSatModel": ("sound", WAVES),
    "Data2VecAudioModel": ("sound", WAVES),
    "SEWModel": ("sound", WAVES),
    "Wav2Vec2ConformerModel": ("sound", WAVES),
    "Wav2Vec2ForCTC": ("sound", WAVES),
    "WhisperModel": ("spectrum", {"max_source_positions": 16, "max_target_positions": 32, "num_mel_bins": 16}),
    "Speech2TextModel": (
        "features",
        {"max_source_positions": 100, "max_target_positions": 32, "conv_channels": 16, "input_feat_per_channel": 16},
    ),
    "ASTModel": (
        "spectrogram",
        {"max_length": 32, "num_mel_bins": 16, "patch_size": 4, "frequency_stride": 4, "time_stride": 4},
    ),
    "VitsModel": (
        "text",
        {
            "flow_size": 16,
            "spectrogram_bins": 17,
            "wavenet_dilation_rate": 1,
            "duration_predictor_filter_channels": 16,
            "upsample_initial_channel": 32,
            "upsample_rates": [4, 4],
            "upsample_kernel_sizes": [8, 8],
            "resblock_kernel_sizes": [3],
            "resblock_dilation_sizes": [[1, 3]],
            "use_stochastic_duration_prediction": False,
            "noise_scale": 0.0,
            "prior_encoder_num_flows": 2,
            "num_conv_pos": 16,
        },
    ),
    "SiglipModel": ("text and image", {"text_config": READ | {"max_position_embeddings": 64}, "vision_config": SEEN}),
    "AltCLIPModel": ("text and image", {"text_config": READ | {"max_position_embeddings": 64}, "vision_config": SEEN}),
    "ChineseCLIPModel": (
        "text and image",
        {"text_config": READ | {"max_position_embeddings": 64}, "vision_config": SEEN},
    ),
    "CLIPSegModel": ("text and image", {"text_config": READ, "vision_config": SEEN}),
    "GroupViTModel": (
        "text and image",
        {
            "text_config": READ,
            "vision_config": SEEN
            | {"depths": [1, 1, 1], "num_group_tokens": [0, 4, 2], "num_output_groups": [0, 4, 2]},
        },
    ),
    "BlipModel": ("text and image", {"text_config": READ | {"encoder_hidden_size": 32}, "vision_config": SEEN}),
    "LlavaForConditionalGeneration": (
        "image in text",
        {
            "text_config": {
                "model_type": "llama",
                "vocab_size": 200,
                "hidden_size": 32,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "intermediate_size": 64,
                "num_key_value_heads": 2,
            },
            "vision_config": SEEN | {"model_type": "clip_vision_model"},
            "image_token_index": 199,
            "image_token_id": 199,
        },
    ),
    "OwlViTModel": ("text and image", {"text_config": READ, "vision_config": SEEN}),
    "LayoutLMv3Model": (
        "text",
        {"coordinate_size": 6, "shape_size": 4, "rel_pos_bins": 8, "max_2d_position_embeddings": 64, "input_size": 32},
    ),
    "PatchTSTModel": ("series", {"num_input_channels": 2, "context_length": 32, "patch_length": 8, "patch_stride": 8}),
    "PatchTSMixerModel": (
        "series",
        {"num_input_channels": 2, "context_length": 32, "patch_length": 8, "patch_stride": 8},
    ),
}

GENERATES = {
    "MambaForCausalLM": {"time_step_rank": 4},
    "MistralForCausalLM": {},
    "Qwen2ForCausalLM": {},
    "FalconForCausalLM": {},
    "GPTNeoForCausalLM": WITH_SETTINGS["GPTNeoForCausalLM"][1],
    "BloomForCausalLM": {},
    "MarianMTModel": {},
    "PegasusForConditionalGeneration": {},
}


def models():
    """{name: (class, kind of input, settings)}"""
    listed = {name: (name, *row) for name, row in WITH_SETTINGS.items()}
    for kind, names in AS_SMALL.items():
        end = "+generate" if kind == "generate" else ""
        listed |= {name + end: (name, kind, {}) for name in names.split()}
    return listed | {f"{name}+generate": (name, "generate", settings) for name, settings in GENERATES.items()}


def small_configuration(config_class, settings):
    """The configuration with the settings given, and of SMALL those that it has."""
    known = set()
    for base in config_class.__mro__:
        known |= set(getattr(base, "__annotations__", {}))
        if "__init__" in vars(base):
            known |= set(inspect.signature(base.__init__).parameters)
    mapped = set(getattr(config_class, "attribute_map", {}))
    small = {key: value for key, value in SMALL.items() if key in known and key not in mapped}
    return config_class(**(small | settings))


def inputs_of(kind, torch):
    ids, noise = torch.randint(3, 190, (2, 16)), torch.randn
    if kind.startswith("image") and kind[5:].isdigit():
        return {"pixel_values": noise(2, 3, int(kind[5:]), int(kind[5:]))}
    if kind == "image in text":
        marked = torch.cat([ids[:, :1], torch.full((2, 16), 199), ids[:, 1:]], 1)
        return {"input_ids": marked, "pixel_values": noise(2, 3, 32, 32), "attention_mask": torch.ones_like(marked)}
    image = {"pixel_values": noise(2, 3, 32, 32)}
    return {
        "text": {"input_ids": ids},
        "two texts": {"input_ids": ids, "decoder_input_ids": ids.flip(0)[:, :8]},
        "image": image,
        "text and image": {"input_ids": ids} | image,
        "sound": {"input_values": noise(2, 1600)},
        "video": {"pixel_values": noise(2, 4, 3, 32, 32)},
        "spectrum": {"input_features": noise(2, 16, 32), "decoder_input_ids": ids[:, :8]},
        "features": {"input_features": noise(2, 40, 16), "decoder_input_ids": ids[:, :8]},
        "spectrogram": {"input_values": noise(2, 32, 16)},
        "series": {"past_values": noise(2, 32, 2)},
        "generate": {"input_ids": ids, "max_new_tokens": 6, "do_sample": False, "attention_mask": torch.ones_like(ids)},
    }[kind]


def build(name, torch):
    import transformers

    transformers.logging.set_verbosity_error()
    name, kind, settings = models()[name]
    made = getattr(transformers, name)
    model = without_zeros(made(small_configuration(made.config_class, settings)).eval(), torch)
    if kind != "generate":
        return model, (), inputs_of(kind, torch)
    model.generation_config.eos_token_id = None
    if model.config.is_encoder_decoder:
        model.generation_config.decoder_start_token_id = 1
    return model.generate, (), inputs_of(kind, torch)
