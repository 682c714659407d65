"""Unconditional diffusion: training steps of a small U-Net, then sampling with several schedulers (diffusers)."""
import torch
import torch.nn.functional as F
from diffusers import DDIMPipeline, DDIMScheduler, DDPMScheduler, DPMSolverMultistepScheduler, EulerDiscreteScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(16, 32),
                    norm_num_groups=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                    up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8)
scheduler = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
images = torch.rand(8, 1, 16, 16) * 2 - 1
for step in range(3):
    noise = torch.randn_like(images)
    timesteps = torch.randint(0, 100, (8,))
    noisy = scheduler.add_noise(images, noise, timesteps)
    loss = F.mse_loss(model(noisy, timesteps, return_dict=False)[0], noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(step, round(loss.item(), 3))
model.eval()
for name, kind in (("ddim", DDIMScheduler), ("euler", EulerDiscreteScheduler), ("dpm", DPMSolverMultistepScheduler)):
    sampler = kind(num_train_timesteps=100)
    sampler.set_timesteps(6)
    generator = torch.Generator().manual_seed(3)
    sample = torch.randn(2, 1, 16, 16, generator=generator) * sampler.init_noise_sigma
    with torch.no_grad():
        for t in sampler.timesteps:
            scaled = sampler.scale_model_input(sample, t)
            sample = sampler.step(model(scaled, t).sample, t, sample).prev_sample
    print(name, tuple(sample.shape), round(sample.mean().item(), 3), round(sample.std().item(), 3))
pipeline = DDIMPipeline(unet=model, scheduler=DDIMScheduler(num_train_timesteps=100))
pipeline.set_progress_bar_config(disable=True)
out = pipeline(batch_size=2, generator=torch.Generator().manual_seed(1), num_inference_steps=4, output_type="np").images
print(out.shape, round(float(out.mean()), 3))
