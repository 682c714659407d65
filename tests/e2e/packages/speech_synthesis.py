"""Text to speech with VITS and speech recognition with Whisper and Wav2Vec2, for inputs of several lengths (transformers)."""
import torch
from transformers import (VitsConfig, VitsModel, Wav2Vec2Config, Wav2Vec2ForCTC, WhisperConfig, WhisperForConditionalGeneration)

torch.manual_seed(0)
vits = VitsModel(VitsConfig(vocab_size=38, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, ffn_dim=48, flow_size=32,
                            spectrogram_bins=65, upsample_initial_channel=32, upsample_rates=[4, 4], upsample_kernel_sizes=[8, 8],
                            resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]], wavenet_dilation_rate=1,
                            prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2, duration_predictor_num_flows=2,
                            depth_separable_num_layers=1)).eval()
for length in (8, 12, 17, 9, 21):
    ids = torch.randint(0, 38, (1, length))
    torch.manual_seed(length)
    with torch.no_grad():
        waveform = vits(ids).waveform
    print("vits", length, waveform.shape[0], waveform.ndim, bool(torch.isfinite(waveform).all()))
wav2vec = Wav2Vec2ForCTC(Wav2Vec2Config(vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                        conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16,
                                        num_conv_pos_embedding_groups=4)).eval()
whisper = WhisperForConditionalGeneration(WhisperConfig(vocab_size=80, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
                                                        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=20,
                                                        max_source_positions=50, max_target_positions=40, decoder_start_token_id=1, pad_token_id=0,
                                                        bos_token_id=1, eos_token_id=2)).eval()
whisper.generation_config.suppress_tokens = whisper.generation_config.begin_suppress_tokens = None
with torch.no_grad():
    for length in (800, 1200, 1000, 800):
        logits = wav2vec(torch.randn(2, length)).logits
        print("wav2vec", tuple(logits.shape), round(logits.std().item(), 3), logits.argmax(-1)[0, :6].tolist())
    for _ in range(3):
        features = torch.randn(1, 20, 100)
        print("whisper", whisper.generate(features, max_new_tokens=8, do_sample=False).tolist())
