"""A small CLIP trained on synthetic pairs and used for zero-shot scores (open_clip)."""
import open_clip
import torch
from open_clip.loss import ClipLoss
from open_clip.model import CLIP

torch.manual_seed(0)
model = CLIP(embed_dim=16, vision_cfg=dict(image_size=32, layers=2, width=32, head_width=16, patch_size=8),
             text_cfg=dict(context_length=12, vocab_size=100, width=32, heads=2, layers=2))
loss_function = ClipLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    images, texts = torch.randn(6, 3, 32, 32), torch.randint(1, 100, (6, 12))
    image_features, text_features, logit_scale = model(images, texts)
    loss = loss_function(image_features, text_features, logit_scale)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, 4.6052)
    print(step, round(loss.item(), 3))
model.eval()
with torch.no_grad():
    texts = torch.randint(1, 100, (5, 12))
    text_features = model.encode_text(texts, normalize=True)
    for batch in (1, 4, 4, 2, 6):
        image_features = model.encode_image(torch.randn(batch, 3, 32, 32), normalize=True)
        probs = (100.0 * image_features @ text_features.T).softmax(dim=-1)
        print(tuple(probs.shape), [round(v, 3) for v in probs[0].tolist()])
